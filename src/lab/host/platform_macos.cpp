// Cannot be tried where this project is built: it is kept thin, and what needs reading is read by platform_text.cpp.
#ifdef __APPLE__

#include <libproc.h>
#include <mach/mach.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <set>
#include <system_error>

#include "lab/host/platform.h"
#include "lab/host/platform_text.h"
#include "lab/host/quiet_child.h"

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

std::string said_by(const std::vector<std::string>& words) { return quiet_output(words).value_or(""); }

bool flag(const char* name) {
  int value = 0;
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value == 1;
}

struct MacProcess {
  ProcessUse use;
  pid_t parent = 0;
  uid_t user = 0;
};

std::vector<MacProcess> processes() {
  std::vector<pid_t> ids(static_cast<std::size_t>(std::max(0, ::proc_listallpids(nullptr, 0))) + 64);
  const int count = ::proc_listallpids(ids.data(), static_cast<int>(ids.size() * sizeof(pid_t)));
  ids.resize(static_cast<std::size_t>(std::max(0, count)));
  std::vector<MacProcess> all;
  for (const pid_t id : ids) {
    proc_taskallinfo info{};
    // Tells nothing of other users' processes.
    if (::proc_pidinfo(id, PROC_PIDTASKALLINFO, 0, &info, sizeof info) != static_cast<int>(sizeof info)) continue;
    MacProcess process;
    process.use.pid = id;
    process.use.name = info.pbsd.pbi_name[0] != '\0' ? info.pbsd.pbi_name : info.pbsd.pbi_comm;
    process.use.cpu_seconds = static_cast<double>(info.ptinfo.pti_total_user + info.ptinfo.pti_total_system) * 1e-9;
    process.use.resident_bytes = info.ptinfo.pti_resident_size;
    process.parent = static_cast<pid_t>(info.pbsd.pbi_ppid);
    process.user = info.pbsd.pbi_uid;
    all.push_back(std::move(process));
  }
  return all;
}

std::set<pid_t> ids_below(const std::vector<MacProcess>& all, pid_t ancestor) {
  std::vector<std::pair<pid_t, pid_t>> pairs;
  for (const MacProcess& process : all) pairs.emplace_back(process.use.pid, process.parent);
  const std::vector<pid_t> found = below(pairs, ancestor);
  return {found.begin(), found.end()};
}

class MacPlatform : public Platform {
 public:
  PowerState power() const override {
    return power_in_pmset(said_by({"pmset", "-g", "batt"}), said_by({"pmset", "-g"}));
  }
  ThermalState thermal() const override { return thermal_in_pmset(said_by({"pmset", "-g", "therm"})); }
  std::optional<SwapState> swap() const override { return swap_in_sysctl(said_by({"sysctl", "vm.swapusage"})); }

  std::optional<double> load() const override {
    double value = 0;
    return ::getloadavg(&value, 1) == 1 ? std::optional(value) : std::nullopt;
  }

  std::optional<std::uint64_t> memory_free() const override {
    vm_statistics64 pages{};
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    if (::host_statistics64(::mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) !=
        KERN_SUCCESS) {
      return std::nullopt;
    }
    const std::uint64_t free = std::uint64_t{pages.free_count} + pages.inactive_count + pages.purgeable_count;
    return free * static_cast<std::uint64_t>(::getpagesize());
  }

  // A container on a Mac is Linux in a virtual machine, and sees platform_linux.cpp.
  std::string container() const override { return {}; }

  std::string hardware_architecture() const override {
    if (flag("hw.optional.arm64")) return "arm64";
    utsname names{};
    return ::uname(&names) == 0 ? names.machine : "";
  }

  bool translated() const override { return flag("sysctl.proc_translated"); }

  std::string mount_type(const fs::path& path) const override {
    std::error_code error;
    fs::path there = fs::absolute(path, error);
    while (!fs::exists(there, error) && there != there.parent_path()) there = there.parent_path();
    struct statfs file_system{};
    return ::statfs(there.c_str(), &file_system) == 0 ? file_system.f_fstypename : "";
  }

  std::vector<ProcessUse> busiest_processes(std::size_t count) const override {
    const std::vector<MacProcess> all = processes();
    const std::set<pid_t> ours = ids_below(all, ::getpid());
    std::vector<ProcessUse> others;
    for (const MacProcess& process : all) {
      if (process.use.pid == ::getpid() || ours.contains(process.use.pid) || process.user != ::getuid()) continue;
      others.push_back(process.use);
    }
    std::ranges::stable_sort(others, std::ranges::greater(), &ProcessUse::resident_bytes);
    others.resize(std::min(others.size(), count));
    return others;
  }

  std::vector<ProcessUse> descendants(pid_t ancestor) const override {
    const std::vector<MacProcess> all = processes();
    const std::set<pid_t> ids = ids_below(all, ancestor);
    std::vector<ProcessUse> found;
    for (const MacProcess& process : all) {
      if (ids.contains(process.use.pid)) found.push_back(process.use);
    }
    return found;
  }
};

}  // namespace

const Platform& Platform::here() {
  static const MacPlatform platform;
  return platform;
}

}  // namespace anymps::lab::host

#endif
