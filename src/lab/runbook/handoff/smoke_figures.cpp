#include "lab/runbook/handoff/smoke_figures.h"

#include <algorithm>
#include <vector>

#include "lab/runbook/document/fields.h"
#include "lab/runbook/plateau/plateau.h"
#include "lab/runbook/trial/recording.h"

namespace anymps::lab::runbook::handoff {
namespace {

std::optional<std::int64_t> whole_number_in(const nlohmann::json& facts, const char* name) {
  const nlohmann::json& value = document::member(facts, name);
  return value.is_number_integer() ? std::optional(value.get<std::int64_t>()) : std::nullopt;
}

}  // namespace

WindowFigures window_figures(const std::filesystem::path& folder) {
  WindowFigures figures;
  const trial::Recording recording = trial::read_recording(folder);
  const trial::RecordedProcess* process = recording.main();
  if (process == nullptr) return figures;
  const nlohmann::json facts = trial::facts_of(*process);
  figures.batch = whole_number_in(facts, "batch");
  figures.workers = whole_number_in(facts, "workers");
  figures.ended = process->ended;
  std::uint64_t peak = 0;
  std::uint64_t input_ns = 0;
  for (const trial::RecordedStep& step : process->steps) {
    peak = std::max({peak, step.tensor_bytes, step.driver_bytes});
    if (step.index >= process->window_begin_step && process->window_begin_ns > 0) input_ns += step.input_ns;
  }
  figures.peak_bytes = peak;
  figures.peak_measure = peak > 0 ? plateau::Measure::kTensors : plateau::Measure::kResident;
  if (process->window_begin_ns == 0 || process->steps.empty()) return figures;
  // A script that ends before the window does is measured as far as it went.
  const std::uint64_t end = process->window_end_ns > 0 ? process->window_end_ns : process->steps.back().time_ns;
  const std::uint64_t end_step =
      process->window_end_ns > 0 ? process->window_end_step : process->steps.back().index + 1;
  if (end_step <= process->window_begin_step || end <= process->window_begin_ns) return figures;
  const auto steps = static_cast<double>(end_step - process->window_begin_step);
  const double seconds = static_cast<double>(end - process->window_begin_ns) * 1e-9;
  figures.steps = end_step - process->window_begin_step;
  figures.steps_per_second = steps / seconds;
  figures.step_seconds = seconds / steps;
  figures.input_share = std::min(1.0, static_cast<double>(input_ns) * 1e-9 / seconds);
  return figures;
}

SmokePlateau plateau_figures(const std::filesystem::path& folder, std::uint64_t asked, double threshold) {
  const trial::Recording recording = trial::read_recording(folder);
  const trial::RecordedProcess* process = recording.main();
  const std::vector<trial::RecordedEpoch> epochs =
      process != nullptr ? process->epochs : std::vector<trial::RecordedEpoch>();
  SmokePlateau figures{.curve = plateau::judge_plateau(epochs, asked, threshold), .holds = std::nullopt};
  const document::Verdict verdict = figures.curve.verdict();
  if (verdict != document::Verdict::kUnknown) figures.holds = verdict == document::Verdict::kGood;
  return figures;
}

}  // namespace anymps::lab::runbook::handoff
