#include "lab/host/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, ATemporaryOneIsGoneAtTheEnd) {
  fs::path path;
  {
    RunFolder first = RunFolder::temporary();
    const RunFolder folder = std::move(first);
    path = folder.path();
    EXPECT_TRUE(path.is_absolute());
    std::ofstream(folder.make_part("run") / "trace") << "x";
    EXPECT_TRUE(fs::exists(path / "run" / "trace"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(RunFolder, AKeptOneStaysAndMustBeNew) {
  const RunFolder around = RunFolder::temporary();
  const fs::path path = around.path() / "a" / "b";
  {
    RunFolder::kept(path).make_part("run");
  }
  EXPECT_TRUE(fs::exists(path / "run"));
  EXPECT_THROW(RunFolder::kept(path), std::runtime_error);
  std::ofstream(around.path() / "file") << "x";
  EXPECT_THROW(RunFolder::kept(around.path() / "file"), std::runtime_error);
}

}  // namespace
}  // namespace anymps::lab::host
