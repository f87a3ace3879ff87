// A command that a sweep can measure without running anything.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "lab/runbook/sweep/sweep.h"

namespace anymps::lab::runbook::sweep {

constexpr std::uint64_t kMega = 1 << 20;

// A program whose memory is a line and whose throughput saturates at a batch of 16.
class SweptProgram {
 public:
  explicit SweptProgram(std::uint64_t limit) : limit_(limit) {}

  SweepPoint operator()(std::uint64_t batch, std::uint64_t steps) {
    calls.emplace_back(batch, steps);
    SweepPoint point;
    point.batch = batch;
    point.peak_bytes = 10 * kMega + batch * kMega;
    point.limit_bytes = limit_;
    point.outcome = limit_ > 0 && point.peak_bytes > limit_ ? document::Outcome::kOutOfMemory : document::Outcome::kRan;
    if (fails_for_long && steps > 20 && batch > 8) point.outcome = document::Outcome::kCrashed;
    point.samples_per_second =
        100.0 * static_cast<double>(std::min<std::uint64_t>(batch, 16)) + 0.01 * static_cast<double>(batch);
    point.step_seconds = 0.01 * static_cast<double>(batch);
    point.steady_steps = steps;
    point.resident_bytes = point.peak_bytes + 100 * kMega;
    return point;
  }

  std::vector<std::pair<std::uint64_t, std::uint64_t>> calls;
  bool fails_for_long = false;

 private:
  std::uint64_t limit_;
};

inline SweepSeries swept(SweptProgram& program, const SweepSettings& settings = {}, const SweepBounds& bounds = {}) {
  return run_sweep(settings, bounds, std::ref(program));
}

}  // namespace anymps::lab::runbook::sweep
