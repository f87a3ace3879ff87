#include "lab/host/resident_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "lab/host/child.h"

namespace anymps::lab::host {
namespace {

// A shell whose child, another shell, holds 80 MiB in a variable until the file is gone.
ChildCommand holding_while(const std::string& file) {
  const std::string fill = "head -c 83886080 /dev/zero | tr \"\\0\" x";
  return {{"sh", "-c", "sh -c 'held=$(" + fill + "); while [ -e " + file + " ]; do sleep 0.05; done'; true"}, {}};
}

TEST(ResidentSet, GrandchildrenCount) {
  const std::string file = testing::TempDir() + "/resident-set-" + std::to_string(::getpid());
  std::ofstream(file).put('x');
  ResidentSetWatch watch;
  std::thread child([&] { run_child(holding_while(file)); });
  constexpr std::uint64_t kHeld = 80U << 20;
  ResidentSet seen;
  // As long as it takes: a busy machine is slow to fill the variable.
  for (int i = 0; i < 3000 && seen.bytes < kHeld; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    seen = resident_set_below(::getpid());
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));  // the longest pause of the watch
  std::filesystem::remove(file);
  child.join();
  EXPECT_GE(seen.bytes, kHeld);
  EXPECT_GE(seen.processes, 2U);
  EXPECT_GE(watch.peak().bytes, kHeld);
}

TEST(ResidentSet, AProcessWithoutChildrenHasNone) {
  const ResidentSet none = resident_set_below(::getpid());
  EXPECT_EQ(none.bytes, 0U);
  EXPECT_EQ(none.processes, 0U);
}

}  // namespace
}  // namespace anymps::lab::host
