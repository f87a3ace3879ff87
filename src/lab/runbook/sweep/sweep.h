// The batch sweep: doubles the batch until memory or a limit ends it, finds the last batch that fits and the knee, and
// recommends a batch only after it ran again for longer.
//
// Pure but for `Measure`, which runs the command once. A batch that this machine has not the memory or the time for is
// not run: the edge is then where the line through the measured peaks meets the limit, and is labelled so.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

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

struct SweepPoint {
  std::uint64_t batch = 0;
  std::string outcome;  // as outcome_text() has it
  std::string why;
  std::string output;  // the last lines that it printed, where it did not run
  double samples_per_second = 0;
  double samples_low = 0;
  double samples_high = 0;
  double step_seconds = 0;
  double first_step_seconds = 0;
  std::uint64_t steady_steps = 0;
  std::uint64_t peak_bytes = 0;
  std::uint64_t resident_bytes = 0;  // of all processes
  std::uint64_t limit_bytes = 0;     // at which PyTorch refuses; 0: none known

  bool ran() const { return outcome == "ran"; }
};

nlohmann::json to_json(const SweepPoint& point);
SweepPoint sweep_point_from(const nlohmann::json& point);

// Through the peaks of what ran, ascending by batch: where it meets the limit is the edge of a sweep that did not get
// there.
size::BatchLine peak_line(std::vector<double> batches, std::vector<double> peaks);

// What keeps a batch from being run at all.
struct SweepBounds {
  std::uint64_t free_bytes = 0;  // that this machine has for it
  std::uint64_t swaps_at = 0;    // peak beyond which the simulated Mac swaps; 0: not known
};

using Measure = std::function<SweepPoint(std::uint64_t batch, std::uint64_t steps)>;

struct SweepSeries {
  std::vector<SweepPoint> points;  // by batch, ascending
  nlohmann::json knee;             // as in the document; null where there is none
  nlohmann::json edge;
  nlohmann::json recommended;
  std::vector<std::string> notes;
};

SweepSeries run_sweep(const SweepSettings& settings, const SweepBounds& bounds, const Measure& measure);

nlohmann::json to_json(const SweepSeries& series);

}  // namespace anymps::lab::runbook::sweep
