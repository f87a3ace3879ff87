#include "lab/runbook/handoff/speed_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "lab/base/units.h"
#include "lab/host/platform.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

constexpr double kSameSpeed = 0.1;       // a tenth is within what one host differs from itself
constexpr double kOtherInput = 0.1;      // of a step
constexpr double kBusierLoad = 0.5;      // processes a core that wait
constexpr double kOtherProcessor = 1.2;  // as many cores

// Of the facts of a run, what an Environment has by other names.
struct LoggedMachine {
  std::optional<std::string> architecture;
  std::optional<std::string> cpu;
  std::optional<std::int64_t> cores;
  std::optional<std::uint64_t> memory_bytes;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("architecture", self.architecture);
    fields("cpu", self.cpu);
    fields("cores", self.cores);
    fields("memory_bytes", self.memory_bytes);
  }
};

struct LoggedMount {
  std::string name;
  std::optional<std::string> type;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("name", self.name);
    fields("type", self.type);
  }
};

struct LoggedHost {
  LoggedMachine machine;
  std::vector<LoggedMount> cache_mounts;
  std::optional<double> load;
  std::map<std::string, std::string> environment;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("machine", self.machine);
    fields("cache_mounts", self.cache_mounts);
    fields("load", self.load);
    fields("environment", self.environment);
  }
};

Environment logged_environment(const json& facts) {
  const auto logged = document::described_from<LoggedHost>(facts);
  Environment environment;
  environment.platform.machine = logged.machine.architecture;
  environment.platform.cpu = logged.machine.cpu;
  environment.platform.cores = logged.machine.cores;
  environment.platform.memory_bytes = logged.machine.memory_bytes;
  environment.load = logged.load;
  environment.variables = logged.environment;
  for (const LoggedMount& mount : logged.cache_mounts) {
    CacheFolder& cache = environment.caches.emplace_back();
    cache.name = mount.name;
    cache.mount = mount.type;
  }
  return environment;
}

std::string text_or_not_set(const std::optional<std::string>& value) { return value.value_or("not set"); }

std::optional<std::string> variable_in(const Environment& environment, const char* name) {
  const auto found = environment.variables.find(name);
  return found != environment.variables.end() ? std::optional(found->second) : std::nullopt;
}

// The name and mount of the caches that lie on the network.
std::string network_caches(const Environment& environment) {
  std::string found;
  for (const CacheFolder& cache : environment.caches) {
    if (!cache.mount || !host::is_network_mount(*cache.mount)) continue;
    found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", cache.name, *cache.mount);
  }
  return found;
}

// Variables that make libraries talk or check, as they were left behind by somebody who looked for a fault.
std::string debugging(const Environment& environment) {
  constexpr std::array kNames = {"TORCH_LOGS",
                                 "TORCH_DISTRIBUTED_DEBUG",
                                 "PYTORCH_DEBUG_MPS_ALLOCATOR",
                                 "PYTORCH_MPS_LOG_PROFILE_INFO",
                                 "TORCH_SHOW_CPP_STACKTRACES",
                                 "NCCL_DEBUG",
                                 "CUDA_LAUNCH_BLOCKING",
                                 "MTL_DEBUG_LAYER",
                                 "METAL_DEVICE_WRAPPER_TYPE"};
  std::string found;
  for (const char* name : kNames) {
    const auto value = variable_in(environment, name);
    if (!value || value == "0" || value == "") continue;
    found += fmt::format("{}{}={}", found.empty() ? "" : ", ", name, *value);
  }
  return found;
}

double cores_of(const Environment& environment) { return static_cast<double>(environment.platform.cores.value_or(0)); }

// Processes a core that wanted to run.
double waiting(const Environment& environment) {
  return environment.load.value_or(0) / std::max(1.0, cores_of(environment));
}

std::string hardware_text(const HostPlatform& platform) {
  return fmt::format("{} {}, {} cores, {}", text_or_not_set(platform.machine), text_or_not_set(platform.cpu),
                     platform.cores.value_or(0), base::human_bytes(platform.memory_bytes.value_or(0)));
}

class SpeedComparison {
 public:
  SpeedComparison(const HostSpeed& here, const HostSpeed& there)
      : here_(here), there_(there), slower_(there.figures.steps_per_second < here.figures.steps_per_second) {}

  std::vector<SpeedCause> causes() {
    look_at_input();
    look_at_caches();
    look_at_load();
    look_at_variables();
    look_at_hardware();
    if (causes_.empty()) {
      add(Cause::kUnknown, "neither I/O path, load nor hardware explains it; look at thermals, and measure both again");
    }
    return std::move(causes_);
  }

 private:
  void add(Cause cause, std::string text) { causes_.push_back({cause, std::move(text)}); }

  void look_at_input() {
    if (!here_.figures.input_share || !there_.figures.input_share) return;
    const double ours = *here_.figures.input_share;
    const double theirs = *there_.figures.input_share;
    if (slower_ ? theirs > ours + kOtherInput : theirs < ours - kOtherInput) {
      add(Cause::kInput, fmt::format("the I/O path: waiting for input takes {:.0f}% of a step there and {:.0f}% here",
                                     100 * theirs, 100 * ours));
    }
  }

  void look_at_caches() {
    const std::string ours = network_caches(here_.environment);
    const std::string theirs = network_caches(there_.environment);
    if (slower_ && !theirs.empty() && ours.empty()) {
      add(Cause::kCache, "the I/O path: caches there lie on the network: " + theirs);
    } else if (!slower_ && theirs.empty() && !ours.empty()) {
      add(Cause::kCache, "the I/O path: caches here lie on the network: " + ours);
    }
  }

  void look_at_load() {
    const double ours = waiting(here_.environment);
    const double theirs = waiting(there_.environment);
    if (slower_ ? theirs > ours + kBusierLoad : ours > theirs + kBusierLoad) {
      add(Cause::kLoad,
          fmt::format("load: before the run {:.1f} processes a core wanted to run there, {:.1f} here", theirs, ours));
    }
  }

  void look_at_variables() {
    for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONPATH"}) {
      const auto ours = variable_in(here_.environment, name);
      const auto theirs = variable_in(there_.environment, name);
      if (ours != theirs) {
        add(Cause::kEnvironment,
            fmt::format("{} is {} there and {} here", name, text_or_not_set(theirs), text_or_not_set(ours)));
      }
    }
    if (const std::string names = debugging(slower_ ? there_.environment : here_.environment); !names.empty()) {
      add(Cause::kLogging, fmt::format("debug logging is on {}: {}", slower_ ? "there" : "here", names));
    }
  }

  void look_at_hardware() {
    const HostPlatform& ours = here_.environment.platform;
    const HostPlatform& theirs = there_.environment.platform;
    const double our_cores = cores_of(here_.environment);
    const double their_cores = cores_of(there_.environment);
    const bool other_processor = ours.cpu != theirs.cpu || ours.machine != theirs.machine;
    const bool other_count =
        slower_ ? our_cores > their_cores * kOtherProcessor : their_cores > our_cores * kOtherProcessor;
    if (other_processor || other_count) {
      add(Cause::kHardware, fmt::format("hardware: {} there, {} here", hardware_text(theirs), hardware_text(ours)));
    }
  }

  const HostSpeed& here_;
  const HostSpeed& there_;
  const bool slower_;  // it is slower there
  std::vector<SpeedCause> causes_;
};

}  // namespace

std::optional<HostSpeed> host_speed_of(const json& document, const json& facts) {
  Speed speed;
  const json& full = document::member(document, "full");
  if (const double seconds = document::number_in(full, "step_seconds").value_or(0); seconds > 0) {
    speed.steps_per_second = 1 / seconds;
    speed.input_share = document::number_in(document::member(full, "shares"), "input");
  } else if (const json& epochs = document::list_in(document, "epochs"); !epochs.empty()) {
    // The last one: the first also loads and compiles.
    const double last = document::number_in(epochs.back(), "seconds").value_or(0);
    if (last > 0) speed.steps_per_second = document::number_in(epochs.back(), "steps").value_or(0) / last;
  }
  if (speed.steps_per_second <= 0) return std::nullopt;
  return HostSpeed{speed, logged_environment(facts)};
}

std::vector<SpeedCause> explain_speed(const HostSpeed& here, const HostSpeed& there) {
  const double ours = here.figures.steps_per_second;
  const double theirs = there.figures.steps_per_second;
  if (ours <= 0 || theirs <= 0 || std::abs(theirs / ours - 1) < kSameSpeed) return {};
  return SpeedComparison(here, there).causes();
}

}  // namespace anymps::lab::runbook::handoff
