#ifdef __linux__

#include "lab/host/platform_linux.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "gpu/support/machine_memory.h"
#include "gpu/support/whole_number.h"
#include "lab/base/file_text.h"
#include "lab/host/platform_text.h"

namespace anymps::lab::host {
namespace {

namespace fs = std::filesystem;

std::string word_in(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::optional<double> number_in_file(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// What a folder holds, sorted; empty where there is none.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    found.push_back(entry->path());
  }
  std::ranges::sort(found);
  return found;
}

class LinuxPlatform : public Platform {
 public:
  explicit LinuxPlatform(fs::path root) : root_(std::move(root)) {}

  PowerState power() const override {
    PowerState power;
    for (const fs::path& supply : entries_of(root_ / "sys/class/power_supply")) {
      const std::string type = word_in(supply / "type");
      if (type == "Mains" || type == "USB") {
        if (const auto online = number_in_file(supply / "online")) {
          power.on_mains = power.on_mains.value_or(false) || *online > 0;
        }
      } else if (type == "Battery" && word_in(supply / "scope") != "Device") {  // else it is that of a mouse
        if (const auto percent = number_in_file(supply / "capacity")) power.battery_share = *percent / 100;
        if (!power.on_mains && word_in(supply / "status") == "Discharging") power.on_mains = false;
      }
    }
    if (const std::string profile = word_in(root_ / "sys/firmware/acpi/platform_profile"); !profile.empty()) {
      power.low_power_mode = profile == "low-power";
    }
    return power;
  }

  std::optional<SwapState> swap() const override { return swap_in_meminfo(base::file_text(root_ / "proc/meminfo")); }

  ThermalState thermal() const override {
    ThermalState state;
    for (const fs::path& zone : entries_of(root_ / "sys/class/thermal")) {
      const auto thousandths = number_in_file(zone / "temp");
      if (!thousandths || *thousandths <= 0) continue;  // a cooling device, or a sensor that is off
      if (*thousandths / 1000 <= state.celsius.value_or(0)) continue;
      state.celsius = *thousandths / 1000;
      state.text = word_in(zone / "type");
    }
    // The kernel cools by lowering the highest frequency that is allowed.
    for (const fs::path& policy : entries_of(root_ / "sys/devices/system/cpu/cpufreq")) {
      const auto allowed = number_in_file(policy / "scaling_max_freq");
      const auto highest = number_in_file(policy / "cpuinfo_max_freq");
      if (!allowed || !highest || *highest <= 0) continue;
      state.speed_limit = std::min(state.speed_limit.value_or(1), *allowed / *highest);
    }
    return state;
  }

  std::optional<double> load() const override { return number_in_file(root_ / "proc/loadavg"); }

  std::optional<std::uint64_t> memory_free() const override { return gpu::support::available_memory(root_); }

  std::string container() const override {
    std::error_code error;
    if (fs::exists(root_ / ".dockerenv", error)) return "docker";
    if (fs::exists(root_ / "run/.containerenv", error)) return "podman";
    if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
    if (const std::string name = word_in(root_ / "run/systemd/container"); !name.empty()) return name;
    const std::string groups = base::file_text(root_ / "proc/1/cgroup");
    for (const std::string_view name : {"docker", "kubepods", "containerd", "lxc"}) {
      if (groups.find(name) != std::string::npos) return std::string(name);
    }
    return {};
  }

  std::string hardware_architecture() const override {
    utsname names{};
    return ::uname(&names) == 0 ? names.machine : "";
  }

  bool translated() const override { return false; }

  std::string mount_type(const fs::path& path) const override {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(fs::absolute(path, error), error);
    return mount_type_in(base::file_text(root_ / "proc/self/mountinfo"), error ? path : real);
  }

  std::vector<ProcessUse> busiest_processes(std::size_t count) const override {
    const std::vector<LinuxProcess> all = processes();
    std::set<pid_t> ours = {::getpid()};
    for (const pid_t child : below(parents_of(all), ::getpid())) ours.insert(child);
    std::vector<ProcessUse> others;
    for (const LinuxProcess& process : all) {
      struct stat owner{};
      const std::string folder = (root_ / "proc" / std::to_string(process.use.pid)).string();
      if (ours.contains(process.use.pid) || ::stat(folder.c_str(), &owner) != 0 || owner.st_uid != ::getuid()) continue;
      if (process.use.resident_bytes > 0) others.push_back(process.use);  // else it is a thread of the kernel's
    }
    std::ranges::stable_sort(others, std::ranges::greater(), &ProcessUse::resident_bytes);
    others.resize(std::min(others.size(), count));
    return others;
  }

  std::vector<ProcessUse> descendants(pid_t ancestor) const override {
    const std::vector<LinuxProcess> all = processes();
    std::vector<ProcessUse> found;
    for (const pid_t id : below(parents_of(all), ancestor)) {
      const auto process = std::ranges::find(all, id, [](const LinuxProcess& one) { return one.use.pid; });
      if (process != all.end()) found.push_back(process->use);
    }
    return found;
  }

 private:
  std::vector<LinuxProcess> processes() const {
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::vector<LinuxProcess> all;
    std::error_code error;
    for (fs::directory_iterator entry(root_ / "proc", error), end; !error && entry != end; entry.increment(error)) {
      if (!gpu::support::whole_number<pid_t>(entry->path().filename().string())) continue;
      if (auto process = process_in_stat(base::file_text(entry->path() / "stat"), ticks, page)) all.push_back(*process);
    }
    return all;
  }

  static std::vector<std::pair<pid_t, pid_t>> parents_of(const std::vector<LinuxProcess>& all) {
    std::vector<std::pair<pid_t, pid_t>> pairs;
    for (const LinuxProcess& process : all) pairs.emplace_back(process.use.pid, process.parent);
    return pairs;
  }

  fs::path root_;
};

}  // namespace

std::unique_ptr<Platform> linux_platform(const fs::path& root) { return std::make_unique<LinuxPlatform>(root); }

const Platform& Platform::here() {
  static const LinuxPlatform platform("/");
  return platform;
}

}  // namespace anymps::lab::host

#endif
