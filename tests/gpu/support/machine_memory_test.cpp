#include "gpu/support/machine_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "gpu/memory_samples.h"
#include "scratch_folder.h"

namespace anymps::gpu::support {
namespace {

namespace fs = std::filesystem;

// A tree of files as the system's own.
class MachineMemory : public testing::Test {
 protected:
  MachineMemory() { put("proc/meminfo", "MemTotal:       25165824 kB\nMemAvailable:    4194304 kB\n"); }

  void put(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }

  ScratchFolder scratch_;
  const fs::path root_ = scratch_.path();
};

TEST_F(MachineMemory, IsWhatTheSystemHasLessAMargin) {
  EXPECT_EQ(available_memory(root_), 4096 * kMiB - 4096 * kMiB / 20);
  put("proc/meminfo", "MemAvailable:    41943040 kB\n");
  EXPECT_EQ(available_memory(root_), (40960 - 512) * kMiB) << "the margin has a bound";
}

TEST_F(MachineMemory, IsBoundByTheControlGroupAndByThoseAroundIt) {
  put("proc/self/cgroup", "0::/slice/job\n");
  put("sys/fs/cgroup/slice/job/memory.max", "max\n");
  put("sys/fs/cgroup/slice/job/memory.current", "1048576\n");
  EXPECT_EQ(available_memory(root_), 4096 * kMiB - 4096 * kMiB / 20) << "no limit";
  put("sys/fs/cgroup/slice/memory.max", std::to_string(2000 * kMiB));
  put("sys/fs/cgroup/slice/memory.current", std::to_string(1500 * kMiB));
  put("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file " + std::to_string(500 * kMiB) + "\n");
  EXPECT_EQ(available_memory(root_), 950 * kMiB) << "2000 - (1500 - 500), less a twentieth";
}

TEST_F(MachineMemory, TheLimitIsTheTightestOfTheControlGroups) {
  EXPECT_EQ(memory_limit(root_), std::nullopt);
  put("proc/self/cgroup", "0::/slice/job\n");
  put("sys/fs/cgroup/slice/job/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_), std::nullopt);
  put("sys/fs/cgroup/slice/memory.max", std::to_string(200 * kMiB));
  put("sys/fs/cgroup/memory.max", std::to_string(300 * kMiB));
  EXPECT_EQ(memory_limit(root_), 200 * kMiB);
  put("sys/fs/cgroup/slice/memory.max", std::to_string(physical_memory()));
  put("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(memory_limit(root_), std::nullopt) << "no limit below what there is";
}

TEST_F(MachineMemory, KnowsTheFirstVersionOfControlGroups) {
  put("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n");
  put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", std::to_string(300 * kMiB));
  put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", std::to_string(400 * kMiB));
  EXPECT_EQ(available_memory(root_), 0U);
}

TEST_F(MachineMemory, OfThisMachineIsSomething) {
  EXPECT_GT(available_memory(), 0U);
  EXPECT_LE(available_memory(), physical_memory());
}

}  // namespace
}  // namespace anymps::gpu::support
