// What the programs and files of an operating system say about it, read. Texts in, facts out: tested without the
// system that they come from.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "lab/host/platform.h"

namespace anymps::lab::host {

// Of macOS: `pmset -g batt` and `pmset -g`, `pmset -g therm`, `sysctl vm.swapusage`.
PowerState power_in_pmset(std::string_view battery, std::string_view settings);
ThermalState thermal_in_pmset(std::string_view text);
std::optional<SwapState> swap_in_sysctl(std::string_view text);

// Of Linux: /proc/meminfo, /proc/PID/stat, /proc/self/mountinfo.
std::optional<SwapState> swap_in_meminfo(std::string_view text);

struct LinuxProcess {
  pid_t parent = 0;
  ProcessUse use;
};
std::optional<LinuxProcess> process_in_stat(std::string_view text, double ticks_a_second, std::uint64_t page_bytes);

// The type of the mount on which `path`, absolute and without links, lies.
std::string mount_type_in(std::string_view mountinfo, const std::filesystem::path& path);

// Of a process table: those below `ancestor`, itself left out. Pairs of a process and its parent.
std::vector<pid_t> below(const std::vector<std::pair<pid_t, pid_t>>& processes, pid_t ancestor);

}  // namespace anymps::lab::host
