#ifdef __linux__

#include "lab/host/platform_linux.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "lab/runbook/test_folder.h"

namespace anymps::lab::host {
namespace {

TEST(PlatformLinux, ALaptopOnBattery) {
  const TestFolder root;
  root.write("sys/class/power_supply/AC/type", "Mains\n");
  root.write("sys/class/power_supply/AC/online", "0\n");
  root.write("sys/class/power_supply/BAT0/type", "Battery\n");
  root.write("sys/class/power_supply/BAT0/capacity", "64\n");
  root.write("sys/class/power_supply/mouse/type", "Battery\n");
  root.write("sys/class/power_supply/mouse/scope", "Device\n");
  root.write("sys/class/power_supply/mouse/capacity", "5\n");
  root.write("sys/firmware/acpi/platform_profile", "low-power\n");
  root.write("sys/class/thermal/thermal_zone0/temp", "45000\n");
  root.write("sys/class/thermal/thermal_zone1/temp", "81500\n");
  root.write("sys/class/thermal/thermal_zone1/type", "x86_pkg_temp\n");
  root.write("sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq", "2000000\n");
  root.write("sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "4000000\n");
  root.write("sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq", "4000000\n");
  root.write("sys/devices/system/cpu/cpufreq/policy1/cpuinfo_max_freq", "4000000\n");
  root.write("proc/loadavg", "3.50 2.00 1.00 1/100 4242\n");
  const auto platform = linux_platform(root.path());
  EXPECT_EQ(platform->power().on_mains, false);
  EXPECT_EQ(platform->power().low_power_mode, true);
  EXPECT_EQ(platform->power().battery_share, 0.64);
  EXPECT_EQ(platform->thermal().celsius, 81.5);
  EXPECT_EQ(platform->thermal().text, "x86_pkg_temp");
  EXPECT_EQ(platform->thermal().speed_limit, 0.5);
  EXPECT_EQ(platform->load(), 3.5);
}

TEST(PlatformLinux, WhatIsNotToldIsAbsent) {
  const TestFolder root;
  const auto platform = linux_platform(root.path());
  EXPECT_EQ(platform->power().on_mains, std::nullopt);
  EXPECT_EQ(platform->power().low_power_mode, std::nullopt);
  EXPECT_EQ(platform->thermal().celsius, std::nullopt);
  EXPECT_EQ(platform->thermal().speed_limit, std::nullopt);
  EXPECT_EQ(platform->load(), std::nullopt);
  EXPECT_FALSE(platform->swap());
  EXPECT_TRUE(platform->busiest_processes(3).empty());
  EXPECT_EQ(platform->mount_type("/"), "");
}

TEST(PlatformLinux, ContainersAreKnownByTheirMarks) {
  const TestFolder root;
  const auto platform = linux_platform(root.path());
  root.write("proc/1/cgroup", "0::/system.slice/docker-0123.scope\n");
  EXPECT_EQ(platform->container(), "docker");
  root.write("run/systemd/container", "systemd-nspawn\n");
  EXPECT_EQ(platform->container(), "systemd-nspawn");
  root.write("run/.containerenv", "");
  EXPECT_EQ(platform->container(), "podman");
}

TEST(PlatformLinux, AChildDescendsAndIsNoBackground) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 0;
    ::close(ends[1]);
    ::_exit(::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // until the parent closes its end
  }
  ::close(ends[0]);
  const auto below = Platform::here().descendants(::getpid());
  const auto others = Platform::here().busiest_processes(100000);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  const auto has = [](const std::vector<ProcessUse>& all, pid_t id) {
    return std::ranges::find(all, id, &ProcessUse::pid) != all.end();
  };
  EXPECT_TRUE(has(below, child));
  EXPECT_FALSE(has(below, ::getpid()));
  EXPECT_FALSE(has(others, child));
  EXPECT_FALSE(has(others, ::getpid()));
  EXPECT_TRUE(std::ranges::is_sorted(others, std::ranges::greater(), &ProcessUse::resident_bytes));
}

}  // namespace
}  // namespace anymps::lab::host

#endif
