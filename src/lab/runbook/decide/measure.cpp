#include "lab/runbook/decide/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "lab/host/child.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/trial/printed_metric.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

constexpr std::size_t kEpochsCompared = 2;
constexpr std::int64_t kRunsSearched = 1000;

trial::TrialSettings on_device(const trial::TrialSettings& settings, const trial::CommandSetting& device,
                               const std::string& name) {
  trial::TrialSettings changed = settings;
  device.apply(name, changed.command, changed.environment);
  return changed;
}

json losses_part(const trial::Trial& trial) {
  std::map<std::uint64_t, double> sums;
  if (trial.main() != nullptr) {
    for (const trial::RecordedLoss& loss : trial.main()->losses) sums[loss.step] += loss.value;
  }
  auto losses = json::object();
  for (const auto& [step, loss] : sums) losses[std::to_string(step)] = loss;
  return losses;
}

// At the last step that both took.
std::optional<double> drift_between(const json& reference, const json& other) {
  std::optional<double> drift;
  std::uint64_t last = 0;
  for (const auto& [step, value] : reference.items()) {
    const std::uint64_t index = std::strtoull(step.c_str(), nullptr, 10);
    const json& against = document::member(other, step);
    if (!value.is_number() || !against.is_number() || index < last) continue;
    last = index;
    const auto a = value.get<double>();
    const auto b = against.get<double>();
    drift = std::abs(a - b) / std::max({std::abs(a), std::abs(b), 1e-12});
  }
  return drift;
}

// How much longer the last epochs took than the second and third; the first one compiles and fills caches.
double slowdown_of(const std::vector<plateau::Epoch>& epochs) {
  if (epochs.size() < 2 * kEpochsCompared + 1) return 0;
  const auto seconds = [&epochs](std::size_t from) {
    double total = 0;
    for (std::size_t i = from; i < from + kEpochsCompared; ++i) total += epochs[i].seconds;
    return total;
  };
  const double first = seconds(1);
  return first > 0 ? seconds(epochs.size() - kEpochsCompared) / first - 1 : 0;
}

std::optional<double> positive(std::optional<double> seconds) {
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

// What a command that does the same in MLX told.
struct MlxPart {
  std::optional<double> step_seconds;
  std::optional<std::string> error;

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields.if_any("step_seconds", self.step_seconds);
    fields.if_any("error", self.error);
  }
};

// The script's own figure: MLX has no hooks of PyTorch's.
MlxPart mlx_part(const std::vector<std::string>& command) {
  const host::ChildResult result = host::run_child({command, {}}, host::ChildOutput::kCapture);
  std::istringstream printed(result.output);
  if (const auto seconds = trial::last_metric(printed, "step_seconds"); seconds && result.status() == 0) {
    return {.step_seconds = *seconds, .error = {}};
  }
  return {.step_seconds = {},
          .error = result.start_error.empty()
                       ? fmt::format("it ended with status {} and printed no step_seconds=...", result.status())
                       : result.start_error};
}

// What the profile on mps says to the decision.
void take_profile(const profile::Profile& profile, Measured& measured) {
  measured.profile = profile;
  measured.simulated = profile.simulated;
  if (profile.modelled) measured.utilisation = profile.modelled->busy_share;
  if (profile.failure) {
    measured.ran_out_of_memory = profile.failure->outcome == document::Outcome::kOutOfMemory;
    measured.processes_failed = profile.failure->outcome == document::Outcome::kHung;
  } else {
    measured.mps_step_seconds = positive(profile.step_seconds());
  }
}

std::string evidence_of(const profile::Profile& profile) {
  if (!profile.failure) return profile.story;
  return fmt::format("on mps the script {}: {}", word_of(profile.failure->outcome), profile.failure->why);
}

trial::TrialProgress shown(trial::Session& session, double from, double to, double total, const char* what) {
  return [=, &session](std::uint64_t done) {
    session.progress().at(from + (to - from) * std::min(1.0, static_cast<double>(done) / total), what);
  };
}

// Of the loss, with one seed on both.
std::optional<double> drift_of(trial::Session& session, const trial::TrialSettings& on_cpu,
                               const trial::TrialSettings& on_mps, std::uint64_t steps) {
  const json wanted = {{"mode", "parity"}, {"kept_steps", 0},    {"seed", 0},
                       {"warm_up", 1},     {"no_dropout", true}, {"steps", steps}};
  const auto total = static_cast<double>(steps + 1);
  const json reference = session.part("losses on cpu", [&] {
    return losses_part(trial::run_trial(on_cpu, wanted, shown(session, 0.8, 0.9, total, "losses on the CPU")));
  });
  const json other = session.part("losses on mps", [&] {
    return losses_part(trial::run_trial(on_mps, wanted, shown(session, 0.9, 1, total, "losses on mps")));
  });
  return drift_between(reference, other);
}

// The newest run of the same command on a remote machine that tells its time of a step.
void take_smoke_runs(trial::Session& session, Measured& measured, std::vector<Evidence>& evidence) {
  for (const logbook::LoggedRun& logged : session.logbook().runs("handoff smoke", kRunsSearched)) {
    if (logged.command != session.command() || measured.remote_step_seconds) continue;
    measured.remote_step_seconds = positive(document::number_in(logged.document, "step_seconds"));
    evidence.push_back({fmt::format("smoke run {} on a remote machine", logged.id), logged.id});
  }
}

}  // namespace

DecideResult run_decide(trial::Session& session, const trial::TrialSettings& settings, const DecideRun& run) {
  const trial::TrialSettings on_cpu = on_device(settings, run.device, "cpu");
  const trial::TrialSettings on_mps = on_device(settings, run.device, "mps");
  std::vector<std::string> notes;
  std::vector<Evidence> evidence;
  Measured measured;

  const json window = {{"mode", "window"},
                       {"warm_up", run.profile.warm_up},
                       {"steps", run.profile.steps},
                       {"seconds", run.profile.seconds}};
  const auto steps = static_cast<double>(run.profile.warm_up + run.profile.steps);
  const json cpu_json = session.part("cpu", [&] {
    const trial::Trial trial = trial::run_trial(on_cpu, window, shown(session, 0, 0.15, steps, "on the CPU"));
    return document::to_json(profile::full_part(trial, run.profile));
  });
  const auto cpu = document::described_from<profile::FullPart>(cpu_json);
  if (!cpu.end.failure && cpu.window) measured.cpu_step_seconds = positive(cpu.window->step_seconds);

  take_profile(profile::run_profile(session, on_mps, run.profile, 0.15, 0.6).profile, measured);
  evidence.push_back({evidence_of(measured.profile), session.run()});

  if (measured.mps_step_seconds) {
    const plateau::MeasuredCurve plateau = plateau::run_plateau(session, on_mps, run.plateau, 0.6, 0.8).measured;
    if (plateau.verdict() != document::Verdict::kUnknown) measured.memory_rise = plateau.curve.rise_share;
    measured.memory_grows = plateau.curve.grows;
    measured.sites = plateau.curve.sites;
    measured.slowdown = slowdown_of(plateau.curve.epochs);
    for (const std::string& note : plateau.curve.notes) notes.push_back(note);

    measured.drift = drift_of(session, on_cpu, on_mps, run.drift_steps);
  }
  if (!run.mlx.empty()) {
    const json mlx_json = session.part("mlx", [&] { return document::to_json(mlx_part(run.mlx)); });
    const auto mlx = document::described_from<MlxPart>(mlx_json);
    measured.mlx_step_seconds = positive(mlx.step_seconds);
    if (mlx.error) notes.push_back("MLX: " + *mlx.error);
  }
  take_smoke_runs(session, measured, evidence);
  if (measured.simulated) {
    notes.emplace_back(
        "mps is simulated here: memory, drift of the program, fallbacks and waits are as on a Mac; speed and numerics "
        "of Apple's kernels are not");
  }
  DecideResult result = decide(measured, run.thresholds);
  result.document.grounds->notes = std::move(notes);
  result.document.grounds->evidence = std::move(evidence);
  return result;
}

}  // namespace anymps::lab::runbook::decide
