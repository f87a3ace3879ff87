// The batch sweep: doubles the batch until memory or a limit ends it, finds the last batch that fits and the knee, and
// recommends a batch only after it ran again for longer.
//
// Pure but for `Measure`, which runs the command once. A batch that this machine has not the memory or the time for is
// not run: the edge is then where the line through the measured peaks meets the limit, and is labelled so.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "lab/runbook/sweep/document.h"
#include "lab/size/report.h"

namespace anymps::lab::runbook::sweep {

struct SweepSettings {
  std::uint64_t from = 1;
  std::uint64_t to = 4096;
  std::uint64_t warm_up = 3;
  std::uint64_t steps = 20;
  std::uint64_t verify_steps = 60;
  double point_seconds = 60;  // a window that takes longer is cut short; what would take ten times as long is not run
  double margin = 0.15;       // of the limit that the recommended batch leaves free
  double knee = 0.9;          // the knee is the smallest batch with this share of the best throughput
};

// Through the peaks of what ran, ascending by batch: where it meets the limit is the edge of a sweep that did not get
// there.
size::BatchLine peak_line(std::vector<double> batches, std::vector<double> peaks);

// What keeps a batch from being run at all.
struct SweepBounds {
  std::uint64_t free_bytes = 0;  // that this machine has for it
  std::uint64_t swaps_at = 0;    // peak beyond which the simulated Mac swaps; 0: not known
};

using Measure = std::function<SweepPoint(std::uint64_t batch, std::uint64_t steps)>;

SweepSeries run_sweep(const SweepSettings& settings, const SweepBounds& bounds, const Measure& measure);

}  // namespace anymps::lab::runbook::sweep
