#include "lab/runbook/decide/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

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
    if (!other.contains(step) || index < last) continue;
    last = index;
    const double a = value.get<double>();
    const double b = other[step].get<double>();
    drift = std::abs(a - b) / std::max({std::abs(a), std::abs(b), 1e-12});
  }
  return drift;
}

// How much longer the last epochs took than the second and third; the first one compiles and fills caches.
double slowdown_of(const json& epochs) {
  if (epochs.size() < 2 * kEpochsCompared + 1) return 0;
  const auto seconds = [&epochs](std::size_t from) {
    double total = 0;
    for (std::size_t i = from; i < from + kEpochsCompared; ++i) total += epochs[i].value("seconds", 0.0);
    return total;
  };
  const double first = seconds(1);
  return first > 0 ? seconds(epochs.size() - kEpochsCompared) / first - 1 : 0;
}

std::optional<double> duration_in(const json& object, const char* key) {
  const auto seconds = document::number_in(object, key);
  return seconds && *seconds > 0 ? seconds : std::nullopt;
}

// The script's own figure: MLX has no hooks of PyTorch's.
json mlx_part(const std::vector<std::string>& command) {
  const host::ChildResult result = host::run_child({command, {}}, host::ChildOutput::kCapture);
  std::istringstream printed(result.output);
  if (const auto seconds = trial::last_metric(printed, "step_seconds"); seconds && result.status() == 0) {
    return {{"step_seconds", *seconds}};
  }
  return {{"error", result.start_error.empty()
                        ? fmt::format("it ended with status {} and printed no step_seconds=...", result.status())
                        : result.start_error}};
}

}  // namespace

Decision run_decide(trial::Session& session, const trial::TrialSettings& settings, const DecideRun& run) {
  const trial::TrialSettings on_cpu = on_device(settings, run.device, "cpu");
  const trial::TrialSettings on_mps = on_device(settings, run.device, "mps");
  auto notes = json::array();
  auto evidence = json::array();
  Measured measured;

  const json window = {{"mode", "window"},
                       {"warm_up", run.profile.warm_up},
                       {"steps", run.profile.steps},
                       {"seconds", run.profile.seconds}};
  const auto shown = [&session](double from, double to, double total, const char* what) {
    return [=, &session](std::uint64_t done) {
      session.progress().at(from + (to - from) * std::min(1.0, static_cast<double>(done) / total), what);
    };
  };
  const auto steps = static_cast<double>(run.profile.warm_up + run.profile.steps);
  const json cpu = session.part("cpu", [&] {
    return profile::full_part(trial::run_trial(on_cpu, window, shown(0, 0.15, steps, "on the CPU")), run.profile);
  });
  if (!cpu.contains("failure")) measured.cpu_step_seconds = duration_in(cpu, "step_seconds");

  const profile::ProfileResult profile = profile::run_profile(session, on_mps, run.profile, 0.15, 0.6);
  const json& full = profile.document["full"];
  measured.profile = profile.document;
  measured.simulated = full.value("simulated", false);
  if (full.contains("failure")) {
    const std::string outcome = full["failure"].value("outcome", "");
    measured.ran_out_of_memory = outcome == trial::outcome_text(trial::Outcome::kOutOfMemory);
    measured.processes_failed = outcome == trial::outcome_text(trial::Outcome::kHung);
    evidence.push_back({{"text", fmt::format("on mps the script {}: {}", outcome, full["failure"].value("why", ""))},
                        {"run", session.run()}});
  } else {
    measured.mps_step_seconds = duration_in(full, "step_seconds");
    evidence.push_back({{"text", profile.document.value("story", "")}, {"run", session.run()}});
  }
  if (const json modelled = profile.document.value("modelled", json()); modelled.is_object()) {
    measured.utilisation = modelled.value("busy_share", 0.0);
  }

  if (measured.mps_step_seconds) {
    const plateau::PlateauResult plateau = plateau::run_plateau(session, on_mps, run.plateau, 0.6, 0.8);
    if (plateau.verdict != document::Verdict::kUnknown)
      measured.memory_rise = plateau.document.value("rise_share", 0.0);
    measured.memory_grows = plateau.document.value("grows", true);
    measured.sites = plateau.document.value("sites", json::array());
    measured.slowdown = slowdown_of(plateau.document.value("epochs", json::array()));
    for (const json& note : plateau.document.value("notes", json::array())) notes.push_back(note);

    const json wanted = {{"mode", "parity"}, {"kept_steps", 0},    {"seed", 0},
                         {"warm_up", 1},     {"no_dropout", true}, {"steps", run.drift_steps}};
    const auto drift_steps = static_cast<double>(run.drift_steps + 1);
    const json reference = session.part("losses on cpu", [&] {
      return losses_part(trial::run_trial(on_cpu, wanted, shown(0.8, 0.9, drift_steps, "losses on the CPU")));
    });
    const json other = session.part("losses on mps", [&] {
      return losses_part(trial::run_trial(on_mps, wanted, shown(0.9, 1, drift_steps, "losses on mps")));
    });
    measured.drift = drift_between(reference, other);
  }
  if (!run.mlx.empty()) {
    const json mlx = session.part("mlx", [&] { return mlx_part(run.mlx); });
    measured.mlx_step_seconds = duration_in(mlx, "step_seconds");
    if (mlx.contains("error")) notes.push_back("MLX: " + mlx["error"].get<std::string>());
  }
  for (const logbook::LoggedRun& logged : session.logbook().runs("handoff smoke", kRunsSearched)) {
    if (logged.command != session.command() || measured.remote_step_seconds) continue;
    measured.remote_step_seconds = duration_in(logged.document, "step_seconds");
    evidence.push_back({{"text", fmt::format("smoke run {} on a remote machine", logged.id)}, {"run", logged.id}});
  }

  Decision decision = decide(measured, run.thresholds);
  if (measured.simulated) {
    notes.push_back(
        "mps is simulated here: memory, drift of the program, fallbacks and waits are as on a Mac; speed and numerics "
        "of Apple's kernels are not");
  }
  decision.document["notes"] = notes;
  decision.document["evidence"] = evidence;
  decision.document["profile"] = profile.document;
  return decision;
}

}  // namespace anymps::lab::runbook::decide
