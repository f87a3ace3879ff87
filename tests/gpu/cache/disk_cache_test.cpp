#include "gpu/cache/disk_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "gpu/cache_samples.h"
#include "gpu/forked_child.h"
#include "scratch_folder.h"

namespace anymps::gpu::cache {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHeader = 88;
constexpr std::uint64_t kAmple = 1 << 20;

std::string file_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, std::string_view text) { std::ofstream(path, std::ios::binary) << text; }

void set_age(const fs::path& path, std::time_t seconds) {
  const timespec then = {std::time(nullptr) - seconds, 0};
  const timespec times[] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

std::time_t age_of(const fs::path& path) {
  struct stat facts = {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0);
  return std::time(nullptr) - facts.st_mtime;
}

class DiskCacheTest : public ::testing::Test {
 protected:
  DiskCache cache(std::uint64_t limit = kAmple, DiskCache::Write write = DiskCache::system_write) const {
    return DiskCache(folder_, limit, write);
  }

  ScratchFolder scratch_;
  CacheFolder folder_{scratch_.path() / "cache"};
};

TEST_F(DiskCacheTest, FindsWhatAnotherPut) {
  EXPECT_EQ(cache().find(key(1)), std::nullopt);
  EXPECT_EQ(cache().put(key(1), bytes_of("one")), std::nullopt);
  EXPECT_EQ(cache().put(key(2), bytes_of("")), std::nullopt);
  EXPECT_EQ(text_of(cache().find(key(1))), "one");
  EXPECT_EQ(text_of(cache().find(key(2))), "");
  EXPECT_EQ(cache().put(key(1), bytes_of("another")), std::nullopt);
  EXPECT_EQ(text_of(cache().find(key(1))), "another");
  EXPECT_EQ(cache().usage().files, 2U);
  EXPECT_EQ(cache().usage().bytes, 2 * kHeader + 7);
  EXPECT_TRUE(folder_.is_ours());
}

// Readers of object files refuse what is not aligned.
TEST_F(DiskCacheTest, WhatIsFoundIsAligned) {
  const auto aligned = [](const support::Blob& blob) {
    return reinterpret_cast<std::uintptr_t>(blob.bytes().data()) % alignof(std::max_align_t) == 0;
  };
  for (unsigned i = 0; i < 64; ++i) {
    cache().put(key(i), bytes_of(std::string(i, 'x')));
    const auto found = cache().find(key(i));
    ASSERT_TRUE(found);
    EXPECT_TRUE(aligned(*found)) << i;
    EXPECT_TRUE(aligned(support::Blob::copy_of(found->bytes()))) << i;
  }
}

TEST_F(DiskCacheTest, AnEntryWithAnyByteChangedIsAbsentAndRemoved) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("payload"));
  const fs::path path = cache.path_of(key(1));
  const std::string good = file_text(path);
  ASSERT_EQ(good.size(), kHeader + 7);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    write_file(path, bad);
    EXPECT_EQ(text_of(cache.find(key(1))), "(absent)") << at;
    EXPECT_FALSE(fs::exists(path)) << at;
  }
  write_file(path, good);
  EXPECT_EQ(text_of(cache.find(key(1))), "payload");
}

TEST_F(DiskCacheTest, AnEntryOfAnyOtherLengthIsAbsentAndRemoved) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("payload"));
  const fs::path path = cache.path_of(key(1));
  const std::string good = file_text(path);
  for (std::size_t length = 0; length <= good.size() + 3; ++length) {
    if (length == good.size()) continue;
    std::string bad = good;
    bad.resize(length);
    write_file(path, bad);
    EXPECT_EQ(text_of(cache.find(key(1))), "(absent)") << length;
    EXPECT_FALSE(fs::exists(path)) << length;
  }
}

TEST_F(DiskCacheTest, AnEntryUnderAnotherNameIsAbsent) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  cache.put(key(2), bytes_of("two"));
  fs::rename(cache.path_of(key(1)), cache.path_of(key(2)));
  EXPECT_EQ(text_of(cache.find(key(2))), "(absent)");
}

TEST_F(DiskCacheTest, LinksPipesAndFoldersAreNoEntries) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  const fs::path path = cache.path_of(key(1));
  fs::rename(path, scratch_.path() / "elsewhere");
  fs::create_symlink(scratch_.path() / "elsewhere", path);
  EXPECT_EQ(text_of(cache.find(key(1))), "(absent)");
  fs::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(text_of(cache.find(key(1))), "(absent)");
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_EQ(text_of(cache.find(key(1))), "(absent)");
  EXPECT_NE(cache.put(key(1), bytes_of("one")), std::nullopt);
}

TEST_F(DiskCacheTest, AnEntryOfAnotherUserIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  ASSERT_EQ(::chown(cache.path_of(key(1)).c_str(), 65534, 65534), 0);
  EXPECT_EQ(text_of(cache.find(key(1))), "(absent)");
  EXPECT_EQ(cache.put(key(1), bytes_of("mine")), std::nullopt);
  EXPECT_EQ(text_of(cache.find(key(1))), "mine");
}

TEST_F(DiskCacheTest, AUseRenewsAnEntryOnceAnHour) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  const fs::path path = cache.path_of(key(1));
  set_age(path, 1800);
  ASSERT_TRUE(cache.find(key(1)));
  EXPECT_GE(age_of(path), 1790);
  set_age(path, 7200);
  ASSERT_TRUE(cache.find(key(1)));
  EXPECT_LE(age_of(path), 60);
  set_age(path, -7200);  // of a clock that was wrong: it would be the last to go
  ASSERT_TRUE(cache.find(key(1)));
  EXPECT_GE(age_of(path), 0);
}

TEST_F(DiskCacheTest, TheLeastRecentlyUsedGoFirst) {
  const std::string payload(1000 - kHeader, 'x');
  DiskCache cache = this->cache(8000);
  for (unsigned i = 0; i < 8; ++i) {
    cache.put(key(i), bytes_of(payload));
    set_age(cache.path_of(key(i)), 10000 + 100 * ((i + 5) % 8));  // the oldest: 2, 1, 0, 7, ...
  }
  EXPECT_EQ(cache.usage().files, 8U);
  ASSERT_TRUE(cache.find(key(2)));  // now the newest
  cache.put(key(100), bytes_of(payload));
  // Down to seven eighths, with the new one.
  EXPECT_EQ(cache.usage().bytes, 7000U);
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_FALSE(cache.find(key(0)));
  for (const unsigned kept : {2U, 3U, 4U, 5U, 6U, 7U, 100U}) EXPECT_TRUE(cache.find(key(kept))) << kept;
}

TEST_F(DiskCacheTest, OneProcessNeverLeavesMoreThanTheLimit) {
  DiskCache cache = this->cache(20000);
  for (unsigned i = 0; i < 300; ++i) {
    ASSERT_EQ(cache.put(key(i), bytes_of(std::string(i * 37 % 3000, 'x'))), std::nullopt);
    ASSERT_LE(cache.usage().bytes, 20000U) << i;
    ASSERT_TRUE(i % 10 != 0 || cache.find(key(i))) << i;
  }
  EXPECT_GT(cache.usage().bytes, 10000U);
}

TEST_F(DiskCacheTest, WhatIsLargerThanTheLimitIsLeftOut) {
  DiskCache cache = this->cache(1000);
  cache.put(key(1), bytes_of("small"));
  EXPECT_EQ(cache.put(key(2), bytes_of(std::string(1000, 'x'))), std::nullopt);
  EXPECT_FALSE(cache.find(key(2)));
  EXPECT_TRUE(cache.find(key(1)));
}

TEST_F(DiskCacheTest, ALimitOfZeroTouchesNothing) {
  DiskCache cache = this->cache(0);
  EXPECT_EQ(cache.put(key(1), bytes_of("one")), std::nullopt);
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_FALSE(folder_.exists());
  DiskCache homeless(CacheFolder({}), kAmple);
  EXPECT_EQ(homeless.put(key(1), bytes_of("one")), std::nullopt);
  EXPECT_FALSE(homeless.find(key(1)));
}

TEST_F(DiskCacheTest, TrimLeavesAtMostThatMuch) {
  DiskCache cache = this->cache();
  for (unsigned i = 0; i < 10; ++i) cache.put(key(i), bytes_of(std::string(1000 - kHeader, 'x')));
  const auto trimmed = cache.trim(4500);
  ASSERT_TRUE(trimmed);
  EXPECT_EQ(trimmed->freed.files, 6U);
  EXPECT_EQ(trimmed->kept.bytes, 4000U);
  EXPECT_EQ(cache.usage().bytes, 4000U);
  EXPECT_EQ(cache.trim(0)->kept.files, 0U);
  EXPECT_EQ(cache.usage().files, 0U);
}

TEST_F(DiskCacheTest, TrimRemovesDraftsThatNobodyFinishesAndNothingElse) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  const fs::path shelf = cache.path_of(key(1)).parent_path();
  for (const char* name : {"draft-new", "draft-old", "notes.txt"}) write_file(shelf / name, "x");
  set_age(shelf / "draft-old", 7200);
  set_age(shelf / "notes.txt", 7200);
  ASSERT_TRUE(cache.trim(0));
  EXPECT_TRUE(fs::exists(shelf / "draft-new"));
  EXPECT_FALSE(fs::exists(shelf / "draft-old"));
  EXPECT_TRUE(fs::exists(shelf / "notes.txt"));
}

TEST_F(DiskCacheTest, TwoProcessesDoNotTrimAtOnce) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  int locked[2];
  ASSERT_EQ(::pipe(locked), 0);
  const fs::path lock = folder_.path() / "compiled" / "lock";
  const pid_t holder = start_child([&] {
    const int file = ::open(lock.c_str(), O_RDWR | O_CREAT, 0600);
    struct flock all = {};
    all.l_type = F_WRLCK;
    const bool held = ::fcntl(file, F_SETLK, &all) == 0;
    const bool told = ::write(locked[1], "x", 1) == 1;
    ::pause();
    return held && told;
  });
  char told = 0;
  ASSERT_EQ(::read(locked[0], &told, 1), 1);
  EXPECT_EQ(cache.trim(0), std::nullopt);
  ::kill(holder, SIGKILL);
  ended_well(holder);
  EXPECT_TRUE(cache.trim(0));
  ::close(locked[0]);
  ::close(locked[1]);
}

TEST_F(DiskCacheTest, NothingIsWrittenOrRemovedInAFolderOfSomebodyElse) {
  fs::create_directories(folder_.path());
  write_file(folder_.path() / "thesis.tex", "irreplaceable");
  DiskCache cache = this->cache();
  const auto problem = cache.put(key(1), bytes_of("one"));
  ASSERT_TRUE(problem);
  EXPECT_NE(problem->find("was not made by anymps"), std::string::npos) << *problem;
  const fs::path path = cache.path_of(key(1));
  fs::create_directories(path.parent_path());
  write_file(path, "theirs, though it has the name of an entry");
  EXPECT_FALSE(cache.find(key(1)));
  cache.trim(0);
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(DiskCacheTest, AFolderThatVanishesIsMadeAgain) {
  DiskCache cache = this->cache();
  cache.put(key(1), bytes_of("one"));
  fs::remove_all(folder_.path());
  EXPECT_FALSE(cache.find(key(1)));
  EXPECT_EQ(cache.put(key(1), bytes_of("one")), std::nullopt);
  EXPECT_TRUE(cache.find(key(1)));
  EXPECT_TRUE(folder_.is_ours());
}

// A disk that is full from the nth write on, or that takes one byte at a time.
std::atomic<int> writes_left{0};
ssize_t write_until_full(int file, const void* bytes, std::size_t count) {
  if (writes_left.fetch_sub(1) > 0) return ::write(file, bytes, std::min<std::size_t>(count, 7));
  errno = ENOSPC;
  return -1;
}
bool interrupted = false;
ssize_t write_with_interruptions(int file, const void* bytes, std::size_t count) {
  interrupted = !interrupted;
  if (!interrupted) return ::write(file, bytes, std::min<std::size_t>(count, 1));
  errno = EINTR;
  return -1;
}

TEST_F(DiskCacheTest, AFullDiskLeavesNothingBehind) {
  DiskCache cache = this->cache(kAmple, write_until_full);
  const std::string payload(50, 'x');
  int writes = 0;
  for (;; ++writes) {
    writes_left = writes;
    const auto problem = cache.put(key(1), bytes_of(payload));
    if (!problem) break;
    EXPECT_NE(problem->find("No space left"), std::string::npos) << *problem;
    EXPECT_FALSE(cache.find(key(1)));
    EXPECT_EQ(folder_.usage().bytes, 0U) << "a draft stayed";
  }
  EXPECT_EQ(writes, 13 + 8);  // 88 and 50 bytes, by sevens
  EXPECT_EQ(text_of(cache.find(key(1))), payload);
}

TEST_F(DiskCacheTest, WritesMayBeShortOrInterrupted) {
  DiskCache cache = this->cache(kAmple, write_with_interruptions);
  EXPECT_EQ(cache.put(key(1), bytes_of("payload")), std::nullopt);
  EXPECT_EQ(text_of(cache.find(key(1))), "payload");
}

TEST_F(DiskCacheTest, AFolderThatCannotBeWrittenIsStillRead) {
  ASSERT_EQ(cache().put(key(1), bytes_of("one")), std::nullopt);
  fs::permissions(scratch_.path(), fs::perms(0755));
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    fs::permissions(entry.path(), fs::perms(entry.is_directory() ? 0555 : 0444));
  }
  fs::permissions(folder_.path(), fs::perms(0555));
  EXPECT_TRUE(holds_in_child([&] {
    // Permissions do not hold for root.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return false;
    DiskCache cache = this->cache();
    const bool refused = cache.put(key(1), bytes_of("two")) && cache.put(key(2), bytes_of("two"));
    cache.trim(0);
    return refused && text_of(cache.find(key(1))) == "one";
  }));
  for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
    if (entry.is_directory()) fs::permissions(entry.path(), fs::perms(0755));
  }
  fs::permissions(folder_.path(), fs::perms(0755));
}

std::string payload_for(unsigned number) {
  return std::string(200 + number * 53 % 3000, static_cast<char>('a' + number % 26));
}

// Puts and finds at random; false where something was found that nobody put.
bool hammer(DiskCache& cache, unsigned seed, unsigned rounds) {
  for (unsigned i = 0; i < rounds; ++i) {
    seed = seed * 1664525 + 1013904223;
    const unsigned number = (seed >> 16) % 64;
    if ((seed >> 8) % 3 == 0) {
      if (cache.put(key(number), bytes_of(payload_for(number)))) return false;
    } else if (const auto found = cache.find(key(number)); found && text_of(found) != payload_for(number)) {
      return false;
    }
  }
  return true;
}

TEST_F(DiskCacheTest, ManyProcessesShareASmallFolder) {
  constexpr std::uint64_t kLimit = 30000;
  constexpr unsigned kProcesses = 6;
  std::vector<pid_t> children;
  for (unsigned i = 0; i < kProcesses; ++i) {
    children.push_back(start_child([&, i] {
      DiskCache cache = this->cache(kLimit);
      return hammer(cache, i, 600);
    }));
  }
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  DiskCache cache = this->cache(kLimit);
  constexpr std::uint64_t kEntry = 3200 + kHeader;
  EXPECT_LE(cache.usage().bytes, kLimit + kProcesses * (kLimit / 16 + kEntry));
  EXPECT_GT(cache.usage().files, 3U);
  EXPECT_EQ(cache.put(key(1000), bytes_of("one more")), std::nullopt);
  EXPECT_LE(cache.usage().bytes, kLimit);
  EXPECT_EQ(folder_.usage().bytes, cache.usage().bytes) << "a draft stayed";
}

TEST_F(DiskCacheTest, ProcessesThatAreKilledLeaveNoHalfEntry) {
  for (unsigned round = 0; round < 20; ++round) {
    const pid_t child = start_child([&] {
      DiskCache cache = this->cache();
      return hammer(cache, round, 1'000'000);
    });
    ::usleep(3000 + 500 * round);
    ::kill(child, SIGKILL);
    EXPECT_FALSE(ended_well(child));
  }
  DiskCache cache = this->cache();
  const std::uint64_t files = cache.usage().files;
  EXPECT_GT(files, 0U);
  EXPECT_TRUE(hammer(cache, 1, 1));
  std::uint64_t whole = 0;
  for (unsigned number = 0; number < 64; ++number) {
    const auto found = cache.find(key(number));
    if (!found) continue;
    EXPECT_EQ(text_of(found), payload_for(number));
    ++whole;
  }
  EXPECT_GE(whole, files);
}

TEST_F(DiskCacheTest, ClearingWhileOthersWriteHarmsNobody) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < 3; ++i) {
    children.push_back(start_child([&, i] {
      DiskCache cache = this->cache();
      // What is put may meet the moment in which the folder is not ours; what is found must be right all the same.
      for (unsigned round = 0; round < 200; ++round) {
        const unsigned number = (round + i) % 16;
        cache.put(key(number), bytes_of(payload_for(number)));
        const auto found = cache.find(key(number));
        if (found && text_of(found) != payload_for(number)) return false;
      }
      return true;
    }));
  }
  for (int i = 0; i < 50; ++i) {
    folder_.clear();
    ::usleep(1000);
  }
  for (const pid_t child : children) EXPECT_TRUE(ended_well(child));
  DiskCache cache = this->cache();
  EXPECT_EQ(cache.put(key(1), bytes_of("one")), std::nullopt);
  EXPECT_EQ(text_of(cache.find(key(1))), "one");
}

TEST(DiskLimitTest, ComesFromTheEnvironment) {
  ::unsetenv("ANYMPS_CACHE_LIMIT");
  EXPECT_EQ(disk_limit_from_environment().bytes, std::uint64_t{2} << 30);
  ::setenv("ANYMPS_CACHE_LIMIT", "500 MB", 1);
  EXPECT_EQ(disk_limit_from_environment().bytes, std::uint64_t{500} << 20);
  ::setenv("ANYMPS_CACHE_LIMIT", "0", 1);
  EXPECT_EQ(disk_limit_from_environment().bytes, 0U);
  EXPECT_FALSE(disk_limit_from_environment().problem);
  ::setenv("ANYMPS_CACHE_LIMIT", "much", 1);
  EXPECT_EQ(disk_limit_from_environment().bytes, kDefaultDiskLimit);
  EXPECT_TRUE(disk_limit_from_environment().problem);
  ::unsetenv("ANYMPS_CACHE_LIMIT");
}

}  // namespace
}  // namespace anymps::gpu::cache
