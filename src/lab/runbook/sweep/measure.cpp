#include "lab/runbook/sweep/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "gpu/history/mac_profile.h"
#include "lab/host/platform.h"
#include "lab/runbook/trial/command_setting.h"
#include "lab/runbook/trial/step_times.h"

namespace anymps::lab::runbook::sweep {
namespace {

using nlohmann::json;

// One choice of a value for every axis.
using Choice = std::vector<std::pair<const trial::CommandAxis*, std::string>>;

std::vector<Choice> choices_of(const std::vector<trial::CommandAxis>& axes) {
  std::vector<Choice> all = {{}};
  for (const trial::CommandAxis& axis : axes) {
    std::vector<Choice> longer;
    for (const Choice& choice : all) {
      for (const std::string& value : axis.values) {
        longer.push_back(choice);
        longer.back().emplace_back(&axis, value);
      }
    }
    all = std::move(longer);
  }
  return all;
}

SweepPoint point_of(const trial::Trial& trial, std::uint64_t batch, std::uint64_t warm_up) {
  SweepPoint point;
  point.batch = batch;
  point.outcome = trial.outcome;
  point.why = trial.why;
  if (trial.outcome != document::Outcome::kRan) point.output = trial::error_lines(trial.output);
  point.peak_bytes = trial.peak_bytes();
  point.resident_bytes = trial.resident.bytes;
  const trial::RecordedProcess* main = trial.main();
  if (main == nullptr) return point;
  const trial::StepTimes times = trial::step_times(*main, warm_up);
  const auto samples = static_cast<double>(batch);
  point.samples_per_second = times.samples_per_second(samples);
  point.samples_low = times.samples_spread(samples).low;
  point.samples_high = times.samples_spread(samples).high;
  point.step_seconds = times.seconds.median;
  point.first_step_seconds = times.first_seconds;
  point.steady_steps = times.steady_steps;
  const auto limit = main->facts.find("limit");
  if (limit != main->facts.end() && limit->is_number()) point.limit_bytes = limit->get<std::uint64_t>();
  return point;
}

class SweepMeasurement {
 public:
  SweepMeasurement(trial::Session& session, const SweepRun& run) : session_(session), run_(run), batch_{run.batch} {}

  SweepResult measure() {
    std::vector<trial::CommandAxis> axes;
    for (const std::string& axis : run_.axes) axes.push_back(trial::CommandAxis::parse(axis));
    SweepResult result{.verdict = document::Verdict::kGood, .document = {}};
    result.document.argument = run_.batch;
    if (run_.trial.mac) {
      result.document.mac = run_.trial.mac->name;
      result.document.max_buffer_bytes = max_buffer();
    }
    for (const Choice& choice : choices_of(axes)) {
      result.document.series.push_back(one_series(choice));
      if (!result.document.series.back().recommended) result.verdict = document::Verdict::kBad;
    }
    return result;
  }

 private:
  std::uint64_t max_buffer() const {
    return gpu::history::max_buffer_for(static_cast<std::size_t>(run_.trial.mac->working_set(run_.trial.macos).value));
  }

  SweepBounds bounds() const {
    SweepBounds bounds;
    bounds.free_bytes = host::Platform::here().memory_free().value_or(0);
    if (run_.trial.mac) bounds.swaps_at = run_.trial.mac->memory.value;
    return bounds;
  }

  SweepSeries one_series(const Choice& choice) {
    std::map<std::string, std::string> axes;
    std::string prefix;
    for (const auto& [axis, value] : choice) {
      axes[axis->title] = value;
      prefix += axis->title + "=" + value + " ";
    }
    const auto measure = [&](std::uint64_t batch, std::uint64_t steps) {
      const std::string name = fmt::format("{}batch {} for {} steps", prefix, batch, steps);
      const json point = session_.part(name, [&] {
        ++points_;
        return measured(choice, batch, steps, name);
      });
      return document::described_from<SweepPoint>(point);
    };
    SweepSeries series = run_sweep(run_.sweep, bounds(), measure);
    series.axes = std::move(axes);
    return series;
  }

  json measured(const Choice& choice, std::uint64_t batch, std::uint64_t steps, const std::string& name) {
    trial::TrialSettings settings = run_.trial;
    batch_.apply(std::to_string(batch), settings.command, settings.environment);
    for (const auto& [axis, value] : choice) axis->setting.apply(value, settings.command, settings.environment);
    const json spec = {
        {"mode", "window"}, {"warm_up", run_.sweep.warm_up}, {"steps", steps}, {"seconds", run_.sweep.point_seconds}};
    const auto total = static_cast<double>(run_.sweep.warm_up + steps);
    // How many points there will be is not known: each is taken for a fifth of what is left.
    const double before = 1 - std::pow(0.8, static_cast<double>(points_ - 1));
    const double after = 1 - std::pow(0.8, static_cast<double>(points_));
    const trial::Trial trial = trial::run_trial(settings, spec, [&](std::uint64_t done) {
      session_.progress().at(before + (after - before) * std::min(1.0, static_cast<double>(done) / total), name);
    });
    if (trial.main() != nullptr) {
      json facts = trial::facts_of(*trial.main());
      facts["peak_bytes"] = trial.peak_bytes();
      session_.put_facts(facts);
    }
    if (trial.outcome == document::Outcome::kRan && (trial.main() == nullptr || trial.main()->steps.empty())) {
      throw std::runtime_error(
          "the script took no step that PyTorch's optimisers told of; a loop without one calls anymps.step()");
    }
    return document::to_json(point_of(trial, batch, run_.sweep.warm_up));
  }

  trial::Session& session_;
  const SweepRun& run_;
  const trial::CommandSetting batch_;
  std::size_t points_ = 0;
};

}  // namespace

SweepResult measure_sweep(trial::Session& session, const SweepRun& run) {
  return SweepMeasurement(session, run).measure();
}

}  // namespace anymps::lab::runbook::sweep
