#include "lab/host/platform_text.h"

#include <gtest/gtest.h>

namespace anymps::lab::host {
namespace {

constexpr const char* kOnBattery =
    "Now drawing from 'Battery Power'\n"
    " -InternalBattery-0 (id=4653155)\t87%; discharging; 3:12 remaining present: true\n";
constexpr const char* kOnMains =
    "Now drawing from 'AC Power'\n"
    " -InternalBattery-0 (id=4653155)\t100%; charged; 0:00 remaining present: true\n";
constexpr const char* kSettings =
    "System-wide power settings:\n"
    "Currently in use:\n"
    " standby              1\n"
    " Sleep On Power Button 1\n"
    " hibernatefile        /var/vm/sleepimage\n"
    " lowpowermode         %\n"
    " displaysleep         2\n";

std::string settings_with(char mode) {
  std::string text = kSettings;
  text[text.find('%')] = mode;
  return text;
}

TEST(PlatformText, BatteryOfAMac) {
  const PowerState battery = power_in_pmset(kOnBattery, settings_with('1'));
  EXPECT_EQ(battery.on_mains, false);
  EXPECT_EQ(battery.low_power_mode, true);
  EXPECT_EQ(battery.battery_share, 0.87);
  const PowerState mains = power_in_pmset(kOnMains, settings_with('0'));
  EXPECT_EQ(mains.on_mains, true);
  EXPECT_EQ(mains.low_power_mode, false);
  EXPECT_EQ(mains.battery_share, 1.0);
}

TEST(PlatformText, ADesktopMacHasNoBattery) {
  const PowerState power = power_in_pmset("Now drawing from 'AC Power'\n", " powermode            2\n");
  EXPECT_EQ(power.on_mains, true);
  EXPECT_EQ(power.low_power_mode, false);  // 2 is the high one
  EXPECT_EQ(power.battery_share, std::nullopt);
  EXPECT_EQ(power_in_pmset("", "").on_mains, std::nullopt);
  EXPECT_EQ(power_in_pmset("", "").low_power_mode, std::nullopt);
}

TEST(PlatformText, ThermalStateOfAMac) {
  const ThermalState slowed = thermal_in_pmset(
      "Note: No thermal warning level has been recorded\n"
      "Note: No performance warning level has been recorded\n"
      "2026-01-10 10:00:00 +0100 CPU Power notify\n"
      "\tCPU_Scheduler_Limit \t= 100\n\tCPU_Available_CPUs \t= 8\n\tCPU_Speed_Limit \t= 80\n");
  EXPECT_EQ(slowed.speed_limit, 0.8);
  EXPECT_EQ(slowed.text, "No thermal warning level has been recorded; No performance warning level has been recorded");
  EXPECT_EQ(thermal_in_pmset("Note: No CPU power status has been recorded\n").speed_limit, std::nullopt);
  EXPECT_EQ(thermal_in_pmset("").text, "");
}

TEST(PlatformText, SwapOfAMac) {
  const auto swap = swap_in_sysctl("vm.swapusage: total = 2048.00M  used = 1234.50M  free = 813.50M  (encrypted)\n");
  ASSERT_TRUE(swap);
  EXPECT_EQ(swap->total_bytes, 2048ULL << 20);
  EXPECT_EQ(swap->used_bytes, 2469ULL << 19);
  EXPECT_FALSE(swap_in_sysctl("unknown oid 'vm.swapusage'"));
}

TEST(PlatformText, SwapOfLinux) {
  const auto swap = swap_in_meminfo("MemTotal: 100 kB\nSwapCached: 7 kB\nSwapTotal:  4096 kB\nSwapFree:  1024 kB\n");
  ASSERT_TRUE(swap);
  EXPECT_EQ(swap->total_bytes, 4096U * 1024);
  EXPECT_EQ(swap->used_bytes, 3072U * 1024);
  EXPECT_FALSE(swap_in_meminfo("MemTotal: 100 kB\n"));
}

TEST(PlatformText, AProcessMayBeCalledAnything) {
  const auto process = process_in_stat(
      "42 (a) b (c) S 7 42 42 0 -1 4194304 100 0 0 0 150 50 0 0 20 0 1 0 100 1000000 300 18446744073709551615 1 1\n",
      100, 4096);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->use.pid, 42);
  EXPECT_EQ(process->use.name, "a) b (c");
  EXPECT_EQ(process->parent, 7);
  EXPECT_EQ(process->use.cpu_seconds, 2.0);
  EXPECT_EQ(process->use.resident_bytes, 300U * 4096);
  EXPECT_FALSE(process_in_stat("", 100, 4096));
}

TEST(PlatformText, TheInnermostMountCounts) {
  const char* mounts =
      "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
      "30 22 0:30 / /home rw - xfs /dev/sdb rw\n"
      "31 30 0:31 / /home/a\\040b/data rw shared:5 - nfs4 server:/x rw\n"
      "32 22 0:32 / /home rw - btrfs /dev/sdc rw\n";
  EXPECT_EQ(mount_type_in(mounts, "/home/a b/data/set"), "nfs4");
  EXPECT_EQ(mount_type_in(mounts, "/home/a b/data-two"), "btrfs");  // the later one of two on /home
  EXPECT_EQ(mount_type_in(mounts, "/homes"), "ext4");
  EXPECT_EQ(mount_type_in("", "/home"), "");
  EXPECT_TRUE(is_network_mount("nfs4"));
  EXPECT_FALSE(is_network_mount("apfs"));
}

TEST(PlatformText, GrandchildrenAreBelow) {
  EXPECT_EQ(below({{1, 0}, {5, 1}, {6, 5}, {7, 1}, {8, 6}}, 5), (std::vector<pid_t>{6, 8}));
  EXPECT_TRUE(below({{0, 0}, {1, 0}}, 1).empty());  // the scheduler is its own parent on a Mac
}

}  // namespace
}  // namespace anymps::lab::host
