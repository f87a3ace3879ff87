#include "lab/runbook/decide/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "lab/trace/source_site.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

constexpr double kCliff = 0.2;

std::string percent_text(double share) { return fmt::format("{:.0f}%", 100 * share); }

// A step on the device against one on the CPU, of which it saves this share.
std::string against_the_cpu(double gain) {
  return gain >= 0 ? fmt::format("a step takes {} less time than on the CPU", percent_text(gain))
                   : fmt::format("a step takes {:.1f} times as long as on the CPU", 1 - gain);
}

// The operators that do a network's arithmetic, by parts of their names. That they take most of the time is as it
// should be.
constexpr std::array kArithmetic = {"convolution", "attention", "lstm", "linear"};
constexpr std::array kProducts = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::matmul"};

bool does_the_arithmetic(const std::string& name) {
  return std::ranges::any_of(kArithmetic, [&](const char* part) { return name.find(part) != std::string::npos; }) ||
         std::ranges::find(kProducts, name) != kProducts.end();
}

// Those that fall back, and one that takes most of the device's time.
std::vector<HeldBack> holding_back(const profile::Profile& profile, double slow_operator) {
  std::vector<HeldBack> rows;
  std::set<std::string> named;
  double device = 0;
  for (const profile::OperatorRow& row : profile.operators) device += row.self_seconds;
  for (const profile::FallbackRow& row : profile.fallbacks) {
    if (!named.insert(row.name).second) continue;
    const std::string site = trace::SourceSite::parse(row.site).text();
    rows.push_back({.name = row.name, .seconds = {}, .reason = "falls back to the CPU at " + site});
  }
  for (const profile::OperatorRow& row : profile.operators) {
    const double self = row.self_seconds;
    if (device <= 0 || self <= slow_operator * device || does_the_arithmetic(row.name)) continue;
    if (!named.insert(row.name).second) continue;
    rows.push_back({.name = row.name,
                    .seconds = self,
                    .reason = fmt::format("takes {} of the device's time", percent_text(self / device))});
  }
  return rows;
}

std::vector<Candidate> candidates_of(const Measured& measured) {
  const auto candidate = [](Place place, std::optional<double> seconds, const char* otherwise) {
    return Candidate{.place = place, .step_seconds = seconds, .simulated = false, .note = seconds ? "" : otherwise};
  };
  const Candidate mps = {.place = Place::kMps,
                         .step_seconds = measured.mps_step_seconds,
                         .simulated = measured.simulated,
                         .note = measured.simulated ? "on a simulated device: its speed says nothing of a Mac's" : ""};
  return {candidate(Place::kCpu, measured.cpu_step_seconds, ""), mps,
          candidate(Place::kMlx, measured.mlx_step_seconds, "no MLX version of the script was named (--mlx)"),
          candidate(Place::kRemote, measured.remote_step_seconds, "no smoke run of this command is in the logbook")};
}

double waits_per_step(const profile::Profile& profile) {
  double waits = 0;
  for (const profile::WaitRow& wait : profile.waits) waits += static_cast<double>(wait.count);
  return profile.steps() > 0 ? waits / static_cast<double>(profile.steps()) : 0;
}

// What was measured, held against the thresholds.
class Decider {
 public:
  Decider(const Measured& measured, const DecideSettings& settings)
      : measured_(measured),
        settings_(settings),
        gain_(measured.gain()),
        slow_(gain_ && *gain_ < settings.least_gain),
        idle_(measured.utilisation && *measured.utilisation < settings.least_utilisation),
        grows_(measured.memory_rise && *measured.memory_rise > settings.memory_rise && measured.memory_grows),
        drifts_(measured.drift && *measured.drift > settings.drift) {}

  Decision decision() const {
    if (!measured_.mps_step_seconds) return without_mps();
    if (drifts_) return drifting();
    if (grows_) return growing();
    if ((idle_ && (slow_ || measured_.simulated)) || found(profile::Finding::kInput)) return starving();
    if (found(profile::Finding::kWaits)) {
      return {
          .outcome = Choice::kTakeTheWaitsOut,
          .why = "the host waits for the device in every step, so that it cannot run ahead" + doubt(),
          .options = {"ask for values once an epoch, or every hundred steps", "copy asynchronously", "anymps profile"}};
    }
    if (!measured_.profile.fallbacks.empty()) {
      return {.outcome = Choice::kRewriteALayer,
              .why = "operators fall back to the CPU, and drag tensors there and back" + doubt(),
              .options = {"rewrite the layer", "run it on the CPU deliberately", "MLX", "CUDA"}};
    }
    if (slow_) {
      return {.outcome = Choice::kCpu,
              .why = fmt::format("{}, and {} less is the least that is worth it", against_the_cpu(*gain_),
                                 percent_text(settings_.least_gain)),
              .options = {"a larger batch (anymps sweep)", "MLX", "a remote machine"}};
    }
    return nothing_against_it();
  }

  std::vector<Threshold> thresholds() const {
    return {{"gain over the CPU", gain_, settings_.least_gain, slow_},
            {"device busy", measured_.utilisation, settings_.least_utilisation, idle_},
            {"memory rise over the epochs", measured_.memory_rise, settings_.memory_rise, grows_},
            {"drift of the loss", measured_.drift, settings_.drift, drifts_}};
  }

 private:
  bool found(profile::Finding finding) const {
    const auto& findings = measured_.profile.findings;
    return findings && std::ranges::find(*findings, finding) != findings->end();
  }

  std::string doubt() const {
    return measured_.simulated ? "; the speedup is of a simulated device and decides nothing" : "";
  }

  Decision without_mps() const {
    return {.outcome = measured_.cpu_step_seconds ? Choice::kCpu : Choice::kUndecided,
            .why = measured_.processes_failed
                       ? "the script hangs or crashes on mps; load in one process, then try again"
                       : "the script does not run on mps",
            .options = {}};
  }

  Decision drifting() const {
    return {.outcome = Choice::kPreprocessOnMps,
            .why = fmt::format("the loss drifts by {:.2g}, and {:.2g} is tolerated", *measured_.drift, settings_.drift),
            .options = {"restrict MPS to preprocessing", "train on CUDA", "redesign for MLX",
                        "accept a reviewed delta (anymps parity)"}};
  }

  Decision growing() const {
    return {.outcome = Choice::kRemote,
            .why = fmt::format("memory rises by {} over the epochs, and {} is allowed: tensors are kept; until they "
                               "are let go, plan a dedicated machine",
                               percent_text(*measured_.memory_rise), percent_text(settings_.memory_rise)),
            .options = {"let go of what is kept (see the growing lines)", "a remote machine that runs nothing else"}};
  }

  Decision starving() const {
    return {.outcome = Choice::kFixTheDataPlane,
            .why = fmt::format(
                "the device is busy for {} of the time ({} is the least); {} of a step is waiting for input{}",
                measured_.utilisation ? percent_text(*measured_.utilisation) : "an unknown share",
                percent_text(settings_.least_utilisation), percent_text(measured_.profile.input_share()), doubt()),
            .options = {"anymps profile", "anymps sweep"}};
  }

  Decision nothing_against_it() const {
    return {.outcome = Choice::kMps,
            .why = measured_.simulated
                       ? "nothing that can be seen here speaks against it: memory is a plateau, the loss does not "
                         "drift, no operator falls back. Its speed must be measured on a Mac"
                       : fmt::format("{}, memory is a plateau, the loss does not drift",
                                     gain_ ? against_the_cpu(*gain_) : std::string("the CPU's step was not measured")),
            .options = {}};
  }

  const Measured& measured_;
  const DecideSettings& settings_;
  const std::optional<double> gain_;
  const bool slow_;
  const bool idle_;
  const bool grows_;
  const bool drifts_;
};

document::Verdict verdict_of(Choice outcome) {
  switch (outcome) {
    case Choice::kMps:
      return document::Verdict::kGood;
    case Choice::kUndecided:
      return document::Verdict::kUnknown;
    default:
      return document::Verdict::kBad;
  }
}

}  // namespace

json DecideSettings::key() const { return {least_gain, least_utilisation, memory_rise, drift, slow_operator, week}; }

std::optional<double> Measured::gain() const {
  // How long this machine takes for a simulated device says nothing about a Mac.
  if (simulated || !cpu_step_seconds || !mps_step_seconds || *cpu_step_seconds <= 0) return std::nullopt;
  return 1 - *mps_step_seconds / *cpu_step_seconds;
}

std::vector<Symptom> symptoms(const Measured& measured, const DecideSettings& settings) {
  const std::vector<HeldBack> slow = holding_back(measured.profile, settings.slow_operator);
  const std::optional<double> gain = measured.gain();
  return {
      {.symptom = "fast start, then a cliff",
       .hypothesis = "cache pressure",
       .action = "lower the batch; flush at the end of each epoch",
       .applies = measured.slowdown > kCliff,
       .evidence = fmt::format("the last epochs take {} more time than the first ones",
                               percent_text(std::max(0.0, measured.slowdown)))},
      {.symptom = "one layer slow",
       .hypothesis = "a gap in the kernels",
       .action = "profile; swap the operator",
       .applies = !slow.empty(),
       .evidence =
           slow.empty() ? "no operator stands out" : fmt::format("{}: {}", slow.front().name, slow.front().reason)},
      {.symptom = "loss drifts",
       .hypothesis = "the dtype of reductions",
       .action = "align dtypes, or accept the platform's delta",
       .applies = measured.drift && *measured.drift > settings.drift,
       .evidence = measured.drift ? fmt::format("{:.2g} relative to the CPU's loss at the last step", *measured.drift)
                                  : "not measured"},
      {.symptom = "speedup near 1",
       .hypothesis = "not the real device, or synchronisation",
       .action = "profile; copy asynchronously",
       .applies = gain && *gain < settings.least_gain,
       .evidence = measured.simulated ? "not judged: the device is simulated"
                   : gain             ? fmt::format("{}, and the host waits {:.1f} times in it", against_the_cpu(*gain),
                                                    waits_per_step(measured.profile))
                                      : "not measured"},
      {.symptom = "out of memory",
       .hypothesis = "chains of graphs that are kept",
       .action = "segment the graph; empty_cache",
       .applies = measured.ran_out_of_memory || !measured.sites.empty(),
       .evidence =
           measured.ran_out_of_memory ? "the script ran out of memory"
           : measured.sites.empty()
               ? "memory stays"
               : fmt::format("tensors of {} stay", trace::SourceSite::parse(measured.sites.front().site).text())},
      {.symptom = "oddities with several processes",
       .hypothesis = "MPS in forked processes",
       .action = "one process with a large batch, or a remote machine",
       .applies = measured.processes_failed,
       .evidence = measured.processes_failed ? "it hung or crashed with loader workers" : "none seen"}};
}

DecideResult decide(const Measured& measured, const DecideSettings& settings) {
  const Decider decider(measured, settings);
  DecideResult result;
  result.document.decision = decider.decision();
  result.verdict = verdict_of(result.document.decision.outcome);
  result.document.grounds = {.candidates = candidates_of(measured),
                             .thresholds = decider.thresholds(),
                             .holding_back = holding_back(measured.profile, settings.slow_operator),
                             .symptoms = symptoms(measured, settings),
                             .simulated = measured.simulated,
                             .notes = {},
                             .evidence = {},
                             .profile = measured.profile};
  return result;
}

}  // namespace anymps::lab::runbook::decide
