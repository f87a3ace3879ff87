#include "lab/runbook/decide/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>

#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

constexpr double kDisagree = 0.1;  // of a step's time
constexpr double kCliff = 0.2;
constexpr std::size_t kOperators = 3;
constexpr double kDay = 86400;

std::string percent_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

// A step on the device against one on the CPU, of which it saves this share.
std::string against_the_cpu(double gain) {
  return gain >= 0 ? fmt::format("a step takes {} less time than on the CPU", percent_text(gain))
                   : fmt::format("a step takes {:.1f} times as long as on the CPU", 1 - gain);
}

double share_of(const json& profile, const char* name) {
  return profile.value("full", json::object()).value("shares", json::object()).value(name, 0.0);
}

json threshold(const char* name, const std::optional<double>& value, double limit, bool exceeded) {
  return {{"name", name}, {"value", value ? json(*value) : json()}, {"limit", limit}, {"exceeded", exceeded}};
}

// The operators that do a network's arithmetic, by parts of their names. That they take most of the time is as it
// should be.
constexpr std::array kArithmetic = {"convolution", "attention", "lstm", "linear"};
constexpr std::array kProducts = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul"};

bool does_the_arithmetic(const std::string& name) {
  return std::ranges::any_of(kArithmetic, [&](const char* part) { return name.find(part) != std::string::npos; }) ||
         std::ranges::find(kProducts, name) != kProducts.end();
}

// Operators that keep the device from being worth it: those that fall back, and one that takes most of its time.
json holding_back(const json& profile, double slow_operator) {
  auto rows = json::array();
  std::set<std::string> named;
  double device = 0;
  for (const json& row : profile.value("operators", json::array())) device += row.value("self_seconds", 0.0);
  for (const json& row : profile.value("fallbacks", json::array())) {
    if (!named.insert(row.value("name", "")).second) continue;
    rows.push_back({{"operator", row.value("name", "")},
                    {"seconds", json()},
                    {"reason", fmt::format("falls back to the CPU at {}",
                                           trace::SourceSite::parse(row.value("site", "")).text())}});
  }
  for (const json& row : profile.value("operators", json::array())) {
    const double self = row.value("self_seconds", 0.0);
    if (device <= 0 || self <= slow_operator * device || does_the_arithmetic(row.value("name", ""))) continue;
    if (!named.insert(row.value("name", "")).second) continue;
    rows.push_back({{"operator", row.value("name", "")},
                    {"seconds", self},
                    {"reason", fmt::format("takes {} of the device's time", percent_text(self / device))}});
  }
  return rows;
}

json candidate(const char* name, const std::optional<double>& seconds, bool simulated, std::string note) {
  return {{"name", name},
          {"ran", seconds.has_value()},
          {"step_seconds", seconds ? json(*seconds) : json()},
          {"simulated", simulated},
          {"note", std::move(note)}};
}

json candidates_of(const Measured& measured) {
  auto rows = json::array();
  rows.push_back(candidate("cpu", measured.cpu_step_seconds, false, ""));
  rows.push_back(candidate("mps", measured.mps_step_seconds, measured.simulated,
                           measured.simulated ? "on a simulated device: its speed says nothing of a Mac's" : ""));
  rows.push_back(candidate("mlx", measured.mlx_step_seconds, false,
                           measured.mlx_step_seconds ? "" : "no MLX version of the script was named (--mlx)"));
  rows.push_back(candidate("remote", measured.remote_step_seconds, false,
                           measured.remote_step_seconds ? "" : "no smoke run of this command is in the logbook"));
  return rows;
}

double time_of(const std::string& utc) {
  std::tm parts{};
  if (::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return static_cast<double>(::timegm(&parts));
}

double step_of(const json& profile) { return profile.value("full", json::object()).value("step_seconds", 0.0); }

// Seconds of each operator in one step.
std::map<std::string, double> per_step(const json& profile) {
  const double steps = std::max(1.0, profile.value("full", json::object()).value("steps", 1.0));
  std::map<std::string, double> operators;
  for (const json& row : profile.value("operators", json::array())) {
    operators[row.value("name", "")] = row.value("self_seconds", 0.0) / steps;
  }
  return operators;
}

std::vector<std::string> top_operators(const json& profile) {
  std::vector<std::string> names;
  for (const json& row : profile.value("operators", json::array())) {
    if (names.size() == kOperators) break;
    names.push_back(row.value("name", ""));
  }
  std::ranges::sort(names);
  return names;
}

// The operators by which two profiles differ most.
std::vector<std::string> differing_operators(const json& older, const json& newer) {
  const auto before = per_step(older);
  const auto after = per_step(newer);
  std::vector<std::pair<double, std::string>> changes;
  for (const auto& [name, seconds] : after) {
    const auto found = before.find(name);
    changes.emplace_back(std::abs(seconds - (found != before.end() ? found->second : 0)), name);
  }
  std::ranges::sort(changes, std::greater{});
  std::vector<std::string> names;
  for (const auto& [_, name] : changes) {
    if (names.size() == kOperators) break;
    names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

json DecideSettings::key() const { return {least_gain, least_utilisation, memory_rise, drift, slow_operator, week}; }

std::optional<double> Measured::gain() const {
  // How long this machine takes for a simulated device says nothing about a Mac.
  if (simulated || !cpu_step_seconds || !mps_step_seconds || *cpu_step_seconds <= 0) return std::nullopt;
  return 1 - *mps_step_seconds / *cpu_step_seconds;
}

json symptoms(const Measured& measured, const DecideSettings& settings) {
  const json slow = holding_back(measured.profile, settings.slow_operator);
  const std::optional<double> gain = measured.gain();
  const double per_step_waits = [&] {
    double waits = 0;
    for (const json& wait : measured.profile.value("waits", json::array())) waits += wait.value("count", 0.0);
    const double steps = measured.profile.value("full", json::object()).value("steps", 0.0);
    return steps > 0 ? waits / steps : 0;
  }();
  const auto row = [](const char* symptom, const char* hypothesis, const char* action, bool applies,
                      std::string evidence) {
    return json{{"symptom", symptom},
                {"hypothesis", hypothesis},
                {"action", action},
                {"applies", applies},
                {"evidence", std::move(evidence)}};
  };
  auto rows = json::array();
  rows.push_back(row("fast start, then a cliff", "cache pressure", "lower the batch; flush at the end of each epoch",
                     measured.slowdown > kCliff,
                     fmt::format("the last epochs take {} more time than the first ones",
                                 percent_text(std::max(0.0, measured.slowdown)))));
  rows.push_back(row("one layer slow", "a gap in the kernels", "profile; swap the operator", !slow.empty(),
                     slow.empty() ? "no operator stands out"
                                  : fmt::format("{}: {}", slow.front()["operator"].get<std::string>(),
                                                slow.front()["reason"].get<std::string>())));
  rows.push_back(row("loss drifts", "the dtype of reductions", "align dtypes, or accept the platform's delta",
                     measured.drift && *measured.drift > settings.drift,
                     measured.drift ? fmt::format("{:.2g} relative to the CPU's loss at the last step", *measured.drift)
                                    : "not measured"));
  rows.push_back(
      row("speedup near 1", "not the real device, or synchronisation", "profile; copy asynchronously",
          gain && *gain < settings.least_gain,
          measured.simulated ? "not judged: the device is simulated"
          : gain ? fmt::format("{}, and the host waits {:.1f} times in it", against_the_cpu(*gain), per_step_waits)
                 : "not measured"));
  rows.push_back(row("out of memory", "chains of graphs that are kept", "segment the graph; empty_cache",
                     measured.ran_out_of_memory || !measured.sites.empty(),
                     measured.ran_out_of_memory ? "the script ran out of memory"
                     : measured.sites.empty()
                         ? "memory stays"
                         : fmt::format("tensors of {} stay",
                                       trace::SourceSite::parse(measured.sites.front().value("site", "")).text())));
  rows.push_back(row("oddities with several processes", "MPS in forked processes",
                     "one process with a large batch, or a remote machine", measured.processes_failed,
                     measured.processes_failed ? "it hung or crashed with loader workers" : "none seen"));
  return rows;
}

Decision decide(const Measured& measured, const DecideSettings& settings) {
  const std::optional<double> gain = measured.gain();
  const bool slow = gain && *gain < settings.least_gain;
  const bool idle = measured.utilisation && *measured.utilisation < settings.least_utilisation;
  const bool grows = measured.memory_rise && *measured.memory_rise > settings.memory_rise && measured.memory_grows;
  const bool drifts = measured.drift && *measured.drift > settings.drift;
  const json operators = holding_back(measured.profile, settings.slow_operator);
  const bool falls_back = !measured.profile.value("fallbacks", json::array()).empty();
  const double input = share_of(measured.profile, "input");
  const json findings = measured.profile.value("findings", json::array());
  const bool waits = std::ranges::find(findings, json("waits")) != findings.end();

  std::string outcome;
  std::string why;
  auto options = json::array();
  document::Verdict verdict = document::Verdict::kBad;
  const std::string doubt = measured.simulated ? "; the speedup is of a simulated device and decides nothing" : "";
  if (!measured.mps_step_seconds) {
    verdict = measured.cpu_step_seconds ? document::Verdict::kBad : document::Verdict::kUnknown;
    outcome = measured.cpu_step_seconds ? "cpu" : "undecided";
    why = measured.processes_failed ? "the script hangs or crashes on mps; load in one process, then try again"
                                    : "the script does not run on mps";
  } else if (drifts) {
    outcome = "preprocess on mps, train elsewhere";
    why = fmt::format("the loss drifts by {:.2g}, and {:.2g} is tolerated", *measured.drift, settings.drift);
    options = {"restrict MPS to preprocessing", "train on CUDA", "redesign for MLX",
               "accept a reviewed delta (anymps parity)"};
  } else if (grows) {
    outcome = "remote";
    why = fmt::format(
        "memory rises by {} over the epochs, and {} is allowed: tensors are kept; until they are let go, plan a "
        "dedicated machine",
        percent_text(*measured.memory_rise), percent_text(settings.memory_rise));
    options = {"let go of what is kept (see the growing lines)", "a remote machine that runs nothing else"};
  } else if ((idle && (slow || measured.simulated)) || std::ranges::find(findings, json("input")) != findings.end()) {
    outcome = "fix the data plane and the batch first";
    why = fmt::format("the device is busy for {} of the time ({} is the least); {} of a step is waiting for input{}",
                      measured.utilisation ? percent_text(*measured.utilisation) : "an unknown share",
                      percent_text(settings.least_utilisation), percent_text(input), doubt);
    options = {"anymps profile", "anymps sweep"};
  } else if (waits) {
    outcome = "take the waits out of the loop";
    why = "the host waits for the device in every step, so that it cannot run ahead" + doubt;
    options = {"ask for values once an epoch, or every hundred steps", "copy asynchronously", "anymps profile"};
  } else if (falls_back) {
    outcome = "rewrite a layer, or run it on the CPU deliberately";
    why = "operators fall back to the CPU, and drag tensors there and back" + doubt;
    options = {"rewrite the layer", "run it on the CPU deliberately", "MLX", "CUDA"};
  } else if (slow) {
    outcome = "cpu";
    why = fmt::format("{}, and {} less is the least that is worth it", against_the_cpu(*gain),
                      percent_text(settings.least_gain));
    options = {"a larger batch (anymps sweep)", "MLX", "a remote machine"};
  } else {
    verdict = document::Verdict::kGood;
    outcome = "mps";
    why = measured.simulated
              ? "nothing that can be seen here speaks against it: memory is a plateau, the loss does not drift, "
                "no operator falls back. Its speed must be measured on a Mac"
              : fmt::format("{}, memory is a plateau, the loss does not drift",
                            gain ? against_the_cpu(*gain) : std::string("the CPU's step was not measured"));
  }
  Decision decision;
  decision.verdict = verdict;
  decision.document = {{"decision", {{"outcome", outcome}, {"why", why}, {"options", options}}},
                       {"candidates", candidates_of(measured)},
                       {"thresholds",
                        {threshold("gain over the CPU", gain, settings.least_gain, slow),
                         threshold("device busy", measured.utilisation, settings.least_utilisation, idle),
                         threshold("memory rise over the epochs", measured.memory_rise, settings.memory_rise, grows),
                         threshold("drift of the loss", measured.drift, settings.drift, drifts)}},
                       {"holding_back", operators},
                       {"symptoms", symptoms(measured, settings)},
                       {"simulated", measured.simulated}};
  return decision;
}

json stop_rule(const std::vector<logbook::LoggedRun>& profiles, const DecideSettings& settings) {
  // Newest first.
  for (std::size_t i = 0; i + 1 < profiles.size(); ++i) {
    for (std::size_t j = i + 1; j < profiles.size(); ++j) {
      const json& newer = profiles[i].document;
      const json& older = profiles[j].document;
      const double apart = (time_of(profiles[i].started) - time_of(profiles[j].started)) / kDay;
      if (apart < settings.week || step_of(older) <= 0) continue;
      const bool loaded = share_of(newer, "input") < 0.3 && share_of(older, "input") < 0.3;
      const double change = std::abs(step_of(newer) - step_of(older)) / step_of(older);
      const std::vector<std::string> differing = differing_operators(older, newer);
      if (!loaded || change < kDisagree || differing.size() < kOperators || differing != top_operators(newer) ||
          differing != top_operators(older)) {
        continue;
      }
      return {
          {"runs", {profiles[j].id, profiles[i].id}},
          {"days_apart", apart},
          {"change", change},
          {"operators", differing},
          {"why", fmt::format("profiles {} and {}, {:.0f} days apart, differ by {} although their loaders hold nothing "
                              "back, by the same operators: stop tuning, and change the contract",
                              profiles[j].id, profiles[i].id, apart, percent_text(change))}};
    }
  }
  return nullptr;
}

}  // namespace anymps::lab::runbook::decide
