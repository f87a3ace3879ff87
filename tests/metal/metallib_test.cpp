#include "metal/library/metallib.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>

#include "container.h"
#include "scratch_folder.h"

namespace anymps::metal {
namespace {

constexpr std::size_t kListOffsetAt = 24;
constexpr std::size_t kListSizeAt = 32;
constexpr std::size_t kBitcodeOffsetAt = 72;
constexpr std::size_t kBitcodeSizeAt = 80;
constexpr auto kHuge = std::numeric_limits<std::uint64_t>::max();

ByteVector two_functions() { return container({{"add", "bitcode of add"}, {"shade", "pixels", 1, {}}}); }

std::string bytes_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Behind a guard of its own: with a sanitizer, a read past the end is seen at once.
std::string library_refusal(const ByteVector& bytes) {
  try {
    library::Metallib::from_bytes(ByteVector(bytes));
  } catch (const library::MetallibError& error) {
    return error.what();
  }
  return "read";
}

std::size_t offset_of(const ByteVector& bytes, std::string_view text) {
  const std::size_t at = bytes_text(bytes).find(text);
  EXPECT_NE(at, std::string::npos) << text;
  return at;
}

TEST(Metallib, ListsFunctions) {
  const library::Metallib library = library::Metallib::from_bytes(two_functions());
  ASSERT_EQ(library.functions().size(), 2U);
  const library::FunctionEntry& add = library.functions()[0];
  EXPECT_EQ(add.name, "add");
  EXPECT_EQ(add.type, library::FunctionType::kKernel);
  EXPECT_EQ(bytes_text(add.bitcode), "bitcode of add");
  EXPECT_EQ(add.hash[31], 0xab);
  EXPECT_EQ(add.versions.air_major, 2);
  EXPECT_EQ(add.versions.air_minor, 6);
  EXPECT_EQ(add.versions.metal_major, 3);
  EXPECT_EQ(add.versions.metal_minor, 1);
  EXPECT_EQ(bytes_text(library.functions()[1].bitcode), "pixels");
  EXPECT_EQ(library::name_of(library.functions()[1].type), "fragment");
}

TEST(Metallib, FindsByName) {
  const library::Metallib library = library::Metallib::from_bytes(two_functions());
  EXPECT_EQ(library.find("shade"), &library.functions()[1]);
  EXPECT_EQ(library.find("shad"), nullptr);
}

TEST(Metallib, StaysWholeWhenMoved) {
  auto first = std::make_unique<library::Metallib>(library::Metallib::from_bytes(two_functions()));
  const library::Metallib second = std::move(*first);
  first.reset();
  ASSERT_NE(second.find("add"), nullptr);
  EXPECT_EQ(bytes_text(second.find("add")->bitcode), "bitcode of add");
}

TEST(Metallib, MayBeEmpty) { EXPECT_TRUE(library::Metallib::from_bytes(container({})).functions().empty()); }

TEST(Metallib, SkipsTagsThatItDoesNotNeed) {
  const ByteVector bytes = container({{"add", "b", 2, {{"RFLT", ByteVector(8)}, {"XYZW", ByteVector(300)}}}});
  EXPECT_EQ(library::Metallib::from_bytes(ByteVector(bytes)).functions().size(), 1U);
}

TEST(Metallib, ReadsFiles) {
  namespace fs = std::filesystem;
  const ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  const ByteVector bytes = two_functions();
  const fs::path path = folder / "two.metallib";
  std::ofstream(path, std::ios::binary) << bytes_text(bytes);
  EXPECT_EQ(library::Metallib::from_file(path).functions().size(), 2U);
  EXPECT_THROW(library::Metallib::from_file(folder), library::MetallibError);
  EXPECT_THROW(library::Metallib::from_file(folder / "none"), library::MetallibError);
}

TEST(Metallib, RefusesEveryTruncation) {
  const ByteVector whole = two_functions();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto end = whole.begin() + static_cast<std::ptrdiff_t>(size);
    EXPECT_NE(library_refusal(ByteVector(whole.begin(), end)), "read") << size;
    // And with a header that owns up to it.
    if (size < kTestHeaderBytes) continue;
    ByteVector cut(whole.begin(), end);
    put_at(cut, 16, std::uint64_t{size});
    EXPECT_NE(library_refusal(cut), "read") << size;
  }
}

// Whatever one byte says: read or refused, and what is read lies within the file.
TEST(Metallib, SurvivesEveryByteChanged) {
  const ByteVector whole = two_functions();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      ByteVector changed = whole;
      changed[at] = static_cast<std::byte>(value);
      try {
        const library::Metallib library = library::Metallib::from_bytes(std::move(changed));
        for (const library::FunctionEntry& function : library.functions()) {
          ASSERT_LE(function.bitcode.size(), whole.size());
          for (const std::byte byte : function.bitcode) ASSERT_LT(std::to_integer<int>(byte), 256);
        }
      } catch (const library::MetallibError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 10000U);
}

TEST(Metallib, RefusesWhatIsNoLibrary) {
  EXPECT_NE(library_refusal({}).find("MTLB"), std::string::npos);
  EXPECT_NE(library_refusal(ByteVector(200)).find("does not begin with MTLB"), std::string::npos);
}

TEST(Metallib, RefusesHugeNumbersWhereTheyStand) {
  struct Case {
    std::size_t at;
    const char* says;
  };
  for (const auto& [at, says] :
       {Case{16, "offset 16: the library says"}, Case{kListOffsetAt, "count of functions"},
        Case{kListSizeAt, "function list"}, Case{kBitcodeOffsetAt, "bitcode"}, Case{kBitcodeSizeAt, "bitcode"}}) {
    for (const std::uint64_t value : {kHuge, kHuge - 3, kHuge - 87, kHuge / 2, std::uint64_t{1} << 32U}) {
      ByteVector bytes = two_functions();
      put_at(bytes, at, value);
      EXPECT_NE(library_refusal(bytes).find(says), std::string::npos)
          << at << " " << value << ": " << library_refusal(bytes);
    }
  }
}

TEST(Metallib, RefusesMoreFunctionsThanFit) {
  ByteVector bytes = two_functions();
  put_at(bytes, kTestHeaderBytes, std::uint32_t{0xffff'ffff});
  EXPECT_NE(library_refusal(bytes).find("4294967295 functions do not fit"), std::string::npos);
  put_at(bytes, kTestHeaderBytes, std::uint32_t{1});
  EXPECT_NE(library_refusal(bytes).find("goes on after its last function"), std::string::npos);
  put_at(bytes, kTestHeaderBytes, std::uint32_t{3});
  EXPECT_NE(library_refusal(bytes).find("size of a function's entry"), std::string::npos);
}

TEST(Metallib, RefusesSectionsThatOverlap) {
  ByteVector bytes = two_functions();
  put_at(bytes, kBitcodeOffsetAt, std::uint64_t{kTestHeaderBytes});
  EXPECT_NE(library_refusal(bytes).find("overlaps the function list"), std::string::npos);
  bytes = two_functions();
  put_at(bytes, kListOffsetAt, std::uint64_t{4});
  EXPECT_NE(library_refusal(bytes).find("count of functions"), std::string::npos) << "a list inside the header";
}

TEST(Metallib, RefusesBitcodeOutsideOfItsSection) {
  const std::size_t offset = offset_of(two_functions(), "OFFT") + 6 + 16;
  const std::size_t size = offset_of(two_functions(), "MDSZ") + 6;
  for (const std::size_t at : {offset, size}) {
    for (const std::uint64_t value : {std::uint64_t{21}, kHuge, kHuge - 7}) {
      ByteVector bytes = two_functions();
      put_at(bytes, at, value);
      EXPECT_NE(library_refusal(bytes).find("the bitcode of `add`"), std::string::npos) << library_refusal(bytes);
    }
  }
}

TEST(Metallib, RefusesEntriesThatAreNotWhole) {
  const auto with = [](std::string_view from, std::string_view to) {
    ByteVector bytes = two_functions();
    const std::size_t at = offset_of(bytes, from);
    for (std::size_t i = 0; i < to.size(); ++i) bytes.at(at + i) = static_cast<std::byte>(to[i]);
    return library_refusal(bytes);
  };
  for (const char* tag : {"NAME", "TYPE", "MDSZ", "OFFT"}) {
    EXPECT_NE(with(tag, "XXXX").find("has no tag `" + std::string(tag) + "`"), std::string::npos);
  }
  EXPECT_NE(with("HASH", "NAME").find("`NAME` occurs twice"), std::string::npos);
  EXPECT_NE(with(std::string("add\0", 4), "addx").find("only zero"), std::string::npos);
  EXPECT_NE(with(std::string("add\0", 4), std::string("a\0d\0", 4)).find("only zero"), std::string::npos);
  EXPECT_NE(with("HASH", "TYPE").find("`TYPE` occurs twice"), std::string::npos);
  EXPECT_NE(with("VERS", "ENDT").find("goes on after its end tag"), std::string::npos);

  ByteVector small = two_functions();
  put_at(small, kTestHeaderBytes + 4, std::uint32_t{0});
  EXPECT_NE(library_refusal(small).find("has only 0 bytes"), std::string::npos) << "must not be read for ever";
}

TEST(Metallib, RefusesTagsOfAnotherLength) {
  for (const char* tag : {"TYPE", "HASH", "MDSZ", "OFFT", "VERS"}) {
    // Under its own name the first has no length that fits; the second carries what was in it.
    ByteVector bytes = container({{"add", "b", 2, {{tag, ByteVector(3)}}}});
    bytes.at(offset_of(bytes, tag)) = std::byte{'x'};
    EXPECT_NE(library_refusal(bytes).find("has 3 bytes instead of"), std::string::npos) << library_refusal(bytes);
  }
}

TEST(Metallib, RefusesTwoFunctionsOfOneName) {
  EXPECT_NE(library_refusal(container({{"add", "a"}, {"add", "b"}})).find("two functions are named `add`"),
            std::string::npos);
}

}  // namespace
}  // namespace anymps::metal
