#include "lab/runbook/handoff/smoke_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "lab/base/units.h"
#include "lab/host/platform.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/plateau/plateau.h"
#include "lab/runbook/trial/recording.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

constexpr double kSameSpeed = 0.1;       // a tenth is within what one host differs from itself
constexpr double kOtherInput = 0.1;      // of a step
constexpr double kBusierLoad = 0.5;      // processes a core that wait
constexpr double kOtherProcessor = 1.2;  // as many cores

double number_or_zero(const json& object, const char* name) {
  const json value = document::member(object, name);
  return value.is_number() ? value.get<double>() : 0;
}

std::string text_or_not_set(const json& value) {
  return value.is_null() ? "not set" : value.is_string() ? value.get<std::string>() : value.dump();
}

// Of the environment: the name and mount of the caches that lie on the network.
std::string network_caches(const json& environment) {
  std::string found;
  for (const json& cache : document::member(environment, "caches")) {
    const json mount = document::member(cache, "mount");
    if (!mount.is_string() || !host::is_network_mount(mount.get<std::string>())) continue;
    found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", text_or_not_set(document::member(cache, "name")),
                         mount.get<std::string>());
  }
  return found;
}

// Variables that make libraries talk or check, as they were left behind by somebody who looked for a fault.
std::string debugging(const json& environment) {
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
  const json variables = document::member(environment, "variables");
  for (const char* name : kNames) {
    const json value = document::member(variables, name);
    if (value.is_null() || value == "0" || value == "") continue;
    found += fmt::format("{}{}={}", found.empty() ? "" : ", ", name, text_or_not_set(value));
  }
  return found;
}

}  // namespace

json window_figures(const std::filesystem::path& folder) {
  json figures = {{"steps", 0},
                  {"steps_per_second", nullptr},
                  {"step_seconds", nullptr},
                  {"input_share", nullptr},
                  {"peak_bytes", nullptr},
                  {"batch", nullptr},
                  {"workers", nullptr},
                  {"ended", ""}};
  const trial::Recording recording = trial::read_recording(folder);
  const trial::RecordedProcess* process = recording.main();
  if (process == nullptr) return figures;
  const json facts = trial::facts_of(*process);
  figures["batch"] = document::member(facts, "batch");
  figures["workers"] = document::member(facts, "workers");
  figures["ended"] = process->ended;
  std::uint64_t peak = 0;
  std::uint64_t input_ns = 0;
  for (const trial::RecordedStep& step : process->steps) {
    peak = std::max({peak, step.tensor_bytes, step.driver_bytes});
    if (step.index >= process->window_begin_step && process->window_begin_ns > 0) input_ns += step.input_ns;
  }
  figures["peak_bytes"] = peak;
  figures["peak_measure"] = peak > 0 ? "tensors" : "resident";
  if (process->window_begin_ns == 0 || process->steps.empty()) return figures;
  // A script that ends before the window does is measured as far as it went.
  const std::uint64_t end = process->window_end_ns > 0 ? process->window_end_ns : process->steps.back().time_ns;
  const std::uint64_t end_step =
      process->window_end_ns > 0 ? process->window_end_step : process->steps.back().index + 1;
  if (end_step <= process->window_begin_step || end <= process->window_begin_ns) return figures;
  const auto steps = static_cast<double>(end_step - process->window_begin_step);
  const double seconds = static_cast<double>(end - process->window_begin_ns) * 1e-9;
  figures["steps"] = end_step - process->window_begin_step;
  figures["steps_per_second"] = steps / seconds;
  figures["step_seconds"] = seconds / steps;
  figures["input_share"] = std::min(1.0, static_cast<double>(input_ns) * 1e-9 / seconds);
  return figures;
}

json plateau_figures(const std::filesystem::path& folder, std::uint64_t asked, double threshold) {
  const trial::Recording recording = trial::read_recording(folder);
  const trial::RecordedProcess* process = recording.main();
  const std::vector<trial::RecordedEpoch> epochs =
      process != nullptr ? process->epochs : std::vector<trial::RecordedEpoch>();
  const plateau::Plateau plateau = plateau::judge_plateau(epochs, asked, threshold);
  json figures = plateau::plateau_json(plateau, epochs, threshold);
  figures["holds"] =
      plateau.verdict == document::Verdict::kUnknown ? json() : json(plateau.verdict == document::Verdict::kGood);
  return figures;
}

json local_side_of(const json& document, const json& facts) {
  json figures = {{"steps_per_second", nullptr}, {"input_share", nullptr}};
  if (const json full = document::member(document, "full"); number_or_zero(full, "step_seconds") > 0) {
    figures["steps_per_second"] = 1 / number_or_zero(full, "step_seconds");
    figures["input_share"] = document::member(document::member(full, "shares"), "input");
  } else if (const json epochs = document::member(document, "epochs"); epochs.is_array() && !epochs.empty()) {
    // The last one: the first also loads and compiles.
    const double seconds = number_or_zero(epochs.back(), "seconds");
    if (seconds > 0) figures["steps_per_second"] = number_or_zero(epochs.back(), "steps") / seconds;
  }
  if (number_or_zero(figures, "steps_per_second") <= 0) return nullptr;
  const json machine = document::member(facts, "machine");
  json caches = json::array();
  for (const json& mount : document::member(facts, "cache_mounts")) {
    caches.push_back({{"name", document::member(mount, "name")}, {"mount", document::member(mount, "type")}});
  }
  return {{"figures", figures},
          {"environment",
           {{"platform",
             {{"machine", document::member(machine, "architecture")},
              {"cpu", document::member(machine, "cpu")},
              {"cores", document::member(machine, "cores")},
              {"memory_bytes", document::member(machine, "memory_bytes")}}},
            {"load", document::member(facts, "load")},
            {"caches", caches},
            {"variables", document::member(facts, "environment")}}}};
}

json explain_speed(const json& here, const json& there) {
  json causes = json::array();
  const json our = document::member(here, "figures");
  const json their = document::member(there, "figures");
  const double our_rate = number_or_zero(our, "steps_per_second");
  const double their_rate = number_or_zero(their, "steps_per_second");
  if (our_rate <= 0 || their_rate <= 0 || std::abs(their_rate / our_rate - 1) < kSameSpeed) return causes;
  const auto add = [&](const char* cause, std::string why) {
    causes.push_back({{"cause", cause}, {"text", std::move(why)}});
  };
  const bool slower = their_rate < our_rate;
  const json our_environment = document::member(here, "environment");
  const json their_environment = document::member(there, "environment");

  const double our_input = number_or_zero(our, "input_share");
  const double their_input = number_or_zero(their, "input_share");
  const bool both_known =
      document::member(our, "input_share").is_number() && document::member(their, "input_share").is_number();
  if (both_known && (slower ? their_input > our_input + kOtherInput : their_input < our_input - kOtherInput)) {
    add("input", fmt::format("the I/O path: waiting for input takes {:.0f}% of a step there and {:.0f}% here",
                             100 * their_input, 100 * our_input));
  }
  const std::string our_caches = network_caches(our_environment);
  const std::string their_caches = network_caches(their_environment);
  if (slower && !their_caches.empty() && our_caches.empty()) {
    add("cache", "the I/O path: caches there lie on the network: " + their_caches);
  } else if (!slower && their_caches.empty() && !our_caches.empty()) {
    add("cache", "the I/O path: caches here lie on the network: " + our_caches);
  }
  const auto waiting = [](const json& environment) {
    const double cores = std::max(1.0, number_or_zero(document::member(environment, "platform"), "cores"));
    return number_or_zero(environment, "load") / cores;
  };
  const double our_load = waiting(our_environment);
  const double their_load = waiting(their_environment);
  if (slower ? their_load > our_load + kBusierLoad : our_load > their_load + kBusierLoad) {
    add("load", fmt::format("load: before the run {:.1f} processes a core wanted to run there, {:.1f} here", their_load,
                            our_load));
  }
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONPATH"}) {
    const json ours = document::member(document::member(our_environment, "variables"), name);
    const json theirs = document::member(document::member(their_environment, "variables"), name);
    if (ours != theirs) {
      add("environment",
          fmt::format("{} is {} there and {} here", name, text_or_not_set(theirs), text_or_not_set(ours)));
    }
  }
  if (const std::string names = debugging(slower ? their_environment : our_environment); !names.empty()) {
    add("logging", fmt::format("debug logging is on {}: {}", slower ? "there" : "here", names));
  }
  const json our_platform = document::member(our_environment, "platform");
  const json their_platform = document::member(their_environment, "platform");
  const double our_cores = number_or_zero(our_platform, "cores");
  const double their_cores = number_or_zero(their_platform, "cores");
  const bool other_processor = document::member(our_platform, "cpu") != document::member(their_platform, "cpu") ||
                               document::member(our_platform, "machine") != document::member(their_platform, "machine");
  const bool other_count =
      slower ? our_cores > their_cores * kOtherProcessor : their_cores > our_cores * kOtherProcessor;
  if (other_processor || other_count) {
    const auto shown = [](const json& platform) {
      return fmt::format("{} {}, {} cores, {}", text_or_not_set(document::member(platform, "machine")),
                         text_or_not_set(document::member(platform, "cpu")), number_or_zero(platform, "cores"),
                         base::human_bytes(static_cast<std::uint64_t>(number_or_zero(platform, "memory_bytes"))));
    };
    add("hardware", fmt::format("hardware: {} there, {} here", shown(their_platform), shown(our_platform)));
  }
  if (causes.empty()) {
    add("unknown", "neither I/O path, load nor hardware explains it; look at thermals, and measure both again");
  }
  return causes;
}

}  // namespace anymps::lab::runbook::handoff
