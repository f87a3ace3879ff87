#include "lab/runbook/trial/step_times.h"

#include <algorithm>

#include "lab/base/nanosecond.h"
#include "lab/base/quantile.h"

namespace anymps::lab::runbook::trial {

Spread Spread::of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  return {base::quantile(values, 0.5), base::quantile(values, 0.25), base::quantile(values, 0.75)};
}

double StepTimes::samples_per_second(double otherwise) const {
  const double samples = samples_per_step > 0 ? samples_per_step : otherwise;
  if (window_seconds > 0) return samples * static_cast<double>(steady_steps) / window_seconds;
  return seconds.median > 0 ? samples / seconds.median : 0;
}

Spread StepTimes::samples_spread(double otherwise) const {
  const double samples = samples_per_step > 0 ? samples_per_step : otherwise;
  const auto rate = [samples](double step) { return step > 0 ? samples / step : 0; };
  // Slow steps give the low rate.
  return {rate(seconds.median), rate(seconds.high), rate(seconds.low)};
}

StepTimes step_times(const RecordedProcess& process, std::uint64_t warm_up) {
  StepTimes times;
  const std::vector<RecordedStep>& steps = process.steps;
  const auto first = static_cast<std::size_t>(std::max<std::uint64_t>(1, warm_up));
  if (!steps.empty()) {
    const auto activity = process.facts.find("first_activity_ns");
    if (activity != process.facts.end() && activity->is_number()) {
      times.first_seconds =
          static_cast<double>(steps.front().time_ns) * base::kNanosecond - activity->get<double>() * base::kNanosecond;
    }
  }
  if (steps.size() <= first) return times;
  std::vector<double> intervals;
  double input = 0;
  double samples = 0;
  for (std::size_t i = first; i < steps.size(); ++i) {
    intervals.push_back(static_cast<double>(steps[i].time_ns - steps[i - 1].time_ns) * base::kNanosecond);
    input += static_cast<double>(steps[i].input_ns) * base::kNanosecond;
    samples += static_cast<double>(steps[i].samples);
  }
  times.steady_steps = intervals.size();
  times.samples_per_step = samples / static_cast<double>(intervals.size());
  times.window_seconds = process.window_begin_ns > 0 && process.window_end_ns > process.window_begin_ns
                             ? static_cast<double>(process.window_end_ns - process.window_begin_ns) * base::kNanosecond
                             : static_cast<double>(steps.back().time_ns - steps[first - 1].time_ns) * base::kNanosecond;
  times.input_share = times.window_seconds > 0 ? std::min(1.0, input / times.window_seconds) : 0;
  times.seconds = Spread::of(std::move(intervals));
  return times;
}

}  // namespace anymps::lab::runbook::trial
