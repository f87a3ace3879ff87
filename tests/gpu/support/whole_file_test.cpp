#include "gpu/support/whole_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "scratch_folder.h"

namespace anymps::gpu::support {
namespace {

namespace fs = std::filesystem;

class WholeFile : public ::testing::Test {
 protected:
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const ScratchFolder folder_;
  const fs::path file_ = folder_.path() / "file";
};

TEST_F(WholeFile, IsReadAsItWasWritten) {
  write_whole(file_, "one");
  write_whole(file_, "two");
  EXPECT_EQ(read_whole(file_), "two");
  EXPECT_EQ(files(), 1U);
  EXPECT_FALSE(read_whole(folder_.path() / "none"));
}

TEST_F(WholeFile, KeepsItsRightsAndItsLink) {
  write_whole(file_, "one");
  ::chmod(file_.c_str(), 0600);
  const fs::path link = folder_.path() / "link";
  fs::create_symlink(file_, link);
  write_whole(link, "two");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(read_whole(file_), "two");
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(WholeFile, WhereItCannotBeWrittenTheOldOneStays) {
  write_whole(file_, "old");
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{1000, before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  EXPECT_THROW(write_whole(file_, std::string(5000, 'x')), std::runtime_error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_whole(file_), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(WholeFile, ADeviceIsWrittenToAsItIs) {
  EXPECT_THROW(write_whole("/dev/full", "x"), std::runtime_error);
  EXPECT_NO_THROW(write_whole("/dev/null", "x"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(WholeFile, WhatSpeaksAgainstItIsKnownBefore) {
  EXPECT_EQ(why_not_written(file_), "");
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_NE(why_not_written(folder_.path()), "");
  EXPECT_NE(why_not_written(folder_.path() / "none" / "file"), "");
  EXPECT_EQ(why_not_written("/dev/stdout"), "");
}

}  // namespace
}  // namespace anymps::gpu::support
