#include "superres/files/lmdb_pages.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "scratch_folder.h"
#include "superres/files/store.h"

namespace anymps::superres {
namespace {

namespace fs = std::filesystem;

const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

files::Pair pair_of(int side) {
  files::Pair pair;
  pair.high = {2 * side, 2 * side, 1, 8, {}};
  pair.low = {side, side, 1, 8, {}};
  pair.high.samples.assign(pair.high.count(), 7);
  pair.low.samples.assign(pair.low.count(), 9);
  return pair;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

class LmdbPagesTest : public testing::Test {
 protected:
  // A tree of two levels, with large values and free pages.
  void SetUp() override {
    const nlohmann::json settings = {{"scale", 2}};
    files::Store store = files::Store::append_to(path_, settings);
    for (int i = 0; i < 60; ++i) {
      store.add("picture-with-a-name-" + std::to_string(i), 1, {pair_of(i % 10 == 0 ? 40 : 4)});
    }
  }

  // Everything that a reader does. What is wrong, or nothing.
  std::optional<std::string> complaint() const {
    try {
      const files::Store store = files::Store::open(path_);
      store.sources();
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(store.size(), 100); ++i) {
        try {
          store.at(i);
        } catch (const files::StoreError&) {
          continue;
        }
      }
    } catch (const files::StoreError& error) {
      return error.what();
    }
    return std::nullopt;
  }

  ScratchFolder folder_;
  fs::path path_ = folder_.path() / "pairs.lmdb";
};

TEST_F(LmdbPagesTest, AWholeDatabaseIsInOrder) {
  EXPECT_EQ(complaint(), std::nullopt);
  files::Store store = files::Store::append_to(path_, {{"scale", 2}});
  store.add("one more", 1, {pair_of(4)});
  EXPECT_EQ(store.size(), 61U);
  EXPECT_EQ(files::Store::open(path_).size(), 61U);
}

TEST_F(LmdbPagesTest, APageThatLeadsNowhereIsTold) {
  std::string bytes = bytes_of(path_);
  // The numbers of nodes in all pages but the first two.
  for (std::size_t page = 2; page < bytes.size() / kPage; ++page) bytes[page * kPage + 13] = '\x7f';
  write(path_, bytes);
  EXPECT_NE(complaint().value_or("").find("it is damaged"), std::string::npos);
}

// LMDB takes the number from the newer of its first two pages, and the state from the one that the number's parity
// names.
TEST_F(LmdbPagesTest, AStateUnderAnothersNumberIsTold) {
  constexpr std::size_t kRoot = 128;
  constexpr std::size_t kNumber = 144;
  std::string bytes = bytes_of(path_);
  const std::uint64_t odd = 1001;
  const std::uint64_t nowhere = 4000;
  std::memcpy(bytes.data() + kNumber, &odd, sizeof odd);
  std::memcpy(bytes.data() + kPage + kRoot, &nowhere, sizeof nowhere);
  write(path_, bytes);
  EXPECT_NE(complaint().value_or("").find("its states are out of order"), std::string::npos);
}

// LMDB would read beyond its map or end the program for many of these.
TEST_F(LmdbPagesTest, NoByteOfItsStructureEndsTheProgram) {
  const std::string whole = bytes_of(path_);
  for (std::size_t page = 0; page < whole.size() / kPage; ++page) {
    for (std::size_t place = 0; place < 160; place += page < 2 ? 3 : 9) {
      std::string bytes = whole;
      bytes[page * kPage + place] = static_cast<char>(bytes[page * kPage + place] ^ 0xa5);
      write(path_, bytes);
      complaint();
    }
  }
}

TEST_F(LmdbPagesTest, NoByteOfItsStructureEndsAWriter) {
  const std::string whole = bytes_of(path_);
  for (std::size_t page = 0; page < whole.size() / kPage; ++page) {
    for (std::size_t place = 3; place < 160; place += 13) {
      std::string bytes = whole;
      bytes[page * kPage + place] = '\xff';
      write(path_, bytes);
      try {
        files::Store store = files::Store::append_to(path_, {{"scale", 2}});
        store.add("one more", 1, {pair_of(40)});
      } catch (const files::StoreError&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace anymps::superres
