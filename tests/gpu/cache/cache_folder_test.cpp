#include "gpu/cache/cache_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "scratch_folder.h"

namespace anymps::gpu::cache {
namespace {

namespace fs = std::filesystem;

// Sets or unsets a variable for the length of a test.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class CacheFolderTest : public ::testing::Test {
 protected:
  static void write(const fs::path& path, std::size_t bytes) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
  }

  ScratchFolder scratch_;
  const fs::path base_ = scratch_.path();
};

TEST_F(CacheFolderTest, IsFoundInTheOrderOfTheVariables) {
  const Variable home("HOME", "/home/somebody");
  {
    const Variable cache("ANYMPS_CACHE", "/chosen");
    const Variable xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(CacheFolder::of_this_user().path(), "/chosen");
  }
  const Variable cache("ANYMPS_CACHE", nullptr);
  {
    const Variable xdg("XDG_CACHE_HOME", "/xdg");
    EXPECT_EQ(CacheFolder::of_this_user().path(), "/xdg/anymps");
  }
  {
    const Variable xdg("XDG_CACHE_HOME", "relative/is/ignored");
    EXPECT_EQ(CacheFolder::of_this_user().path(), "/home/somebody/.cache/anymps");
  }
}

TEST_F(CacheFolderTest, CountsAndClearsItsOwnFiles) {
  const CacheFolder cache(base_ / "deep" / "cache");
  EXPECT_FALSE(cache.exists());
  ASSERT_TRUE(cache.make());
  ASSERT_TRUE(cache.make());
  EXPECT_TRUE(cache.is_ours());
  EXPECT_EQ(cache.usage().files, 0U);
  write(cache.path() / "objects" / "a", 1000);
  write(cache.path() / "b", 24);
  EXPECT_EQ(cache.usage().files, 2U);
  EXPECT_EQ(cache.usage().bytes, 1024U);
  const auto cleared = cache.clear();
  EXPECT_FALSE(cleared.refusal);
  EXPECT_EQ(cleared.freed.bytes, 1024U);
  EXPECT_FALSE(fs::exists(cache.path()));
  EXPECT_TRUE(fs::exists(base_ / "deep"));
}

TEST_F(CacheFolderTest, ClearingNothingIsNoError) {
  const auto cleared = CacheFolder(base_ / "never").clear();
  EXPECT_FALSE(cleared.refusal);
  EXPECT_EQ(cleared.freed.files, 0U);
}

TEST_F(CacheFolderTest, NeverTouchesAFolderThatIsNotOurs) {
  const CacheFolder cache(base_ / "photos");
  write(cache.path() / "holiday.jpg", 10);
  EXPECT_FALSE(cache.make());
  ASSERT_TRUE(cache.clear().refusal);
  EXPECT_TRUE(fs::exists(cache.path() / "holiday.jpg"));
  // The tag of another program's cache is not ours either.
  std::ofstream(cache.path() / "CACHEDIR.TAG") << "Signature: 8a477f597d28d172789f06886806bc55\n# somebody else\n";
  ASSERT_TRUE(cache.clear().refusal);
  EXPECT_TRUE(fs::exists(cache.path() / "holiday.jpg"));
}

TEST_F(CacheFolderTest, WritesNothingThroughALink) {
  fs::create_directories(base_ / "elsewhere");
  fs::create_directory_symlink(base_ / "elsewhere", base_ / "cache");
  EXPECT_FALSE(CacheFolder(base_ / "cache").make());
  EXPECT_TRUE(fs::is_empty(base_ / "elsewhere"));
}

TEST_F(CacheFolderTest, FollowsNoLinks) {
  write(base_ / "elsewhere" / "precious", 10);
  const CacheFolder cache(base_ / "cache");
  ASSERT_TRUE(cache.make());
  fs::create_directory_symlink(base_ / "elsewhere", cache.path() / "link");
  EXPECT_EQ(cache.usage().bytes, 0U);

  fs::create_directory_symlink(cache.path(), base_ / "alias");
  const auto through_link = CacheFolder(base_ / "alias").clear();
  ASSERT_TRUE(through_link.refusal);
  EXPECT_NE(through_link.refusal->find("is a link"), std::string::npos) << *through_link.refusal;
  EXPECT_TRUE(cache.is_ours());

  EXPECT_FALSE(cache.clear().refusal);
  EXPECT_FALSE(fs::exists(cache.path()));
  EXPECT_TRUE(fs::exists(base_ / "elsewhere" / "precious"));
}

// Threads of one process once drafted the tag under one name, and all but one failed.
TEST_F(CacheFolderTest, ManyThreadsMakeItAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const CacheFolder cache(base_ / ("cache" + std::to_string(round)));
    std::atomic<int> made{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { made += cache.make(); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(made, 4) << round;
  }
}

}  // namespace
}  // namespace anymps::gpu::cache
