#include "lab/runbook/sweep/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "lab/base/least_squares.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::sweep {
namespace {

// Of the machine's free memory that a batch may be expected to take: the estimate is a line through few points.
constexpr double kOfFree = 0.8;
// A point is not tried where it is expected to take so many times its budget.
constexpr double kTimesBudget = 10;
// How near to an edge that is a limit, not a failure, a batch has to come to have reached it.
constexpr double kNearEdge = 0.06;

class Sweep {
 public:
  Sweep(const SweepSettings& settings, const SweepBounds& bounds, const Measure& measure)
      : settings_(settings), bounds_(bounds), measure_(measure) {}

  SweepSeries run() {
    double_up();
    if (!smallest_bad_) approach_edge();
    if (smallest_bad_) narrow();
    for (const auto& [_, point] : points_) series_.points.push_back(point);
    if (good_.empty()) return std::move(series_);
    find_knee();
    find_edge();
    recommend();
    return std::move(series_);
  }

 private:
  const SweepPoint& at(std::uint64_t batch, std::uint64_t steps) {
    SweepPoint point = measure_(batch, steps);
    if (point.ran() && bounds_.swaps_at > 0 && point.peak_bytes > bounds_.swaps_at) {
      point.outcome = document::Outcome::kWouldSwap;
      point.why = fmt::format("it took {}, and the Mac has {}", base::human_bytes(point.peak_bytes),
                              base::human_bytes(bounds_.swaps_at));
    }
    points_[batch] = point;
    if (point.ran()) {
      good_[batch] = point;
    } else if (!smallest_bad_ || batch < *smallest_bad_) {
      smallest_bad_ = batch;
    }
    return points_[batch];
  }

  size::BatchLine peak_line() const {
    std::vector<double> batches;
    std::vector<double> peaks;
    for (const auto& [batch, point] : good_) {
      batches.push_back(static_cast<double>(batch));
      peaks.push_back(static_cast<double>(point.peak_bytes));
    }
    return sweep::peak_line(std::move(batches), std::move(peaks));
  }

  // Why this machine is not to try it; empty where it is.
  std::string too_much(std::uint64_t batch) const {
    if (good_.size() < 2) return {};
    const size::BatchLine line = peak_line();
    const double expected = line.base + line.per_sample * static_cast<double>(batch);
    const SweepPoint& last = good_.rbegin()->second;
    const double host = static_cast<double>(last.resident_bytes) - static_cast<double>(last.peak_bytes);
    if (bounds_.free_bytes > 0 && expected + std::max(0.0, host) > kOfFree * static_cast<double>(bounds_.free_bytes)) {
      return fmt::format("batch {} is expected to take {}, and this machine has {} free", batch,
                         base::human_bytes(static_cast<std::uint64_t>(expected)),
                         base::human_bytes(bounds_.free_bytes));
    }
    const double seconds = last.step_seconds * static_cast<double>(batch) / static_cast<double>(last.batch) *
                           static_cast<double>(settings_.warm_up + 3);
    if (seconds > kTimesBudget * settings_.point_seconds) {
      return fmt::format("batch {} is expected to take {:.0f} s here", batch, seconds);
    }
    return {};
  }

  void double_up() {
    for (std::uint64_t batch = settings_.from; batch <= settings_.to; batch *= 2) {
      if (std::string why = too_much(batch); !why.empty()) {
        series_.notes.push_back(why + ": it was not run");
        not_tried_ = true;
        return;
      }
      const SweepPoint& point = at(batch, settings_.steps);
      if (!point.ran()) return;
      if (point.steady_steps == 0) {
        series_.notes.push_back(fmt::format(
            "with a batch of {} the script takes too few steps to time: give it more data, or a smaller --to", batch));
        good_.erase(batch);
        return;
      }
    }
  }

  // The last batch that is to fit, by the line through what ran.
  std::optional<std::uint64_t> expected_edge() const {
    return limit() > 0 ? peak_line().largest_within(static_cast<double>(limit())) : std::nullopt;
  }

  // Where a Mac swaps before PyTorch refuses, nothing fails at the edge, and doubling may end below it because this
  // machine has not the memory for twice as much. What is a little below the edge may well run here.
  void approach_edge() {
    if (good_.size() < 2) return;
    const auto edge = expected_edge();
    if (!edge) return;
    const auto batch = static_cast<std::uint64_t>((1 - kNearEdge / 2) * static_cast<double>(*edge));
    if (batch > good_.rbegin()->first && batch <= settings_.to && too_much(batch).empty()) at(batch, settings_.steps);
  }

  void narrow() {
    if (good_.empty()) return;
    while (true) {
      const std::uint64_t low = good_.rbegin()->first;
      const std::uint64_t high = *smallest_bad_;
      if (high - low <= 1) return;
      at(low + (high - low) / 2, settings_.steps);
    }
  }

  void find_knee() {
    const auto best =
        std::ranges::max_element(good_, {}, [](const auto& entry) { return entry.second.samples_per_second; });
    if (good_.size() > 1 && best->first == good_.rbegin()->first && !smallest_bad_ && !not_tried_) {
      series_.notes.push_back(fmt::format(
          "throughput was highest at the last size, {}: a larger --to may find the knee further on", best->first));
    }
    for (const auto& [batch, point] : good_) {
      if (point.samples_per_second < settings_.knee * best->second.samples_per_second) continue;
      series_.knee = {
          .batch = batch,
          .samples_per_second = point.samples_per_second,
          .why = fmt::format("the smallest batch with {:.0f}% of the best throughput ({:.1f} samples/s at {})",
                             100 * settings_.knee, best->second.samples_per_second, best->first)};
      return;
    }
  }

  std::uint64_t limit() const {
    std::uint64_t limit = good_.rbegin()->second.limit_bytes;
    if (bounds_.swaps_at > 0) limit = limit > 0 ? std::min(limit, bounds_.swaps_at) : bounds_.swaps_at;
    return limit;
  }

  void find_edge() {
    const std::uint64_t largest = good_.rbegin()->first;
    if (smallest_bad_) {
      series_.edge = {.largest_good = largest,
                      .smallest_bad = smallest_bad_,
                      .extrapolated = false,
                      .why = fmt::format("batch {} ran; batch {}: {}", largest, *smallest_bad_,
                                         word_of(points_.at(*smallest_bad_).outcome))};
      return;
    }
    const auto expected = expected_edge();
    if (!expected || (*expected < largest && !not_tried_)) return;
    const size::BatchLine line = peak_line();
    const std::string growth = fmt::format("memory grows by {} a sample from {}, and meets {}",
                                           base::human_bytes(static_cast<std::uint64_t>(line.per_sample)),
                                           base::human_bytes(static_cast<std::uint64_t>(std::max(0.0, line.base))),
                                           base::human_bytes(limit()));
    const bool reached = static_cast<double>(*expected) <= (1 + kNearEdge) * static_cast<double>(largest);
    series_.edge = {.largest_good = reached ? largest : *expected,
                    .smallest_bad = std::nullopt,
                    .extrapolated = !reached,
                    .why = reached
                               ? fmt::format("batch {} ran; {} at {}", largest, growth, std::max(largest, *expected))
                               : fmt::format("not run: {} there ({} ran)", growth, largest)};
  }

  bool leaves_margin(const SweepPoint& point) const {
    const std::uint64_t most = limit();
    if (most > 0) return static_cast<double>(point.peak_bytes) <= (1 - settings_.margin) * static_cast<double>(most);
    // Without a known limit the edge itself is all there is to keep away from.
    return !smallest_bad_ ||
           static_cast<double>(point.batch) <= (1 - settings_.margin) * static_cast<double>(*smallest_bad_);
  }

  // The knee, or what is left below it with the margin; more brings memory near its limit and little else.
  void recommend() {
    const auto knee = series_.knee ? series_.knee->batch : good_.rbegin()->first;
    std::vector<std::uint64_t> candidates;
    for (const auto& [batch, point] : good_) {
      if (batch <= knee && leaves_margin(point)) candidates.push_back(batch);
    }
    while (!candidates.empty()) {
      const std::uint64_t batch = candidates.back();
      candidates.pop_back();
      const SweepPoint again = measure_(batch, settings_.verify_steps);
      if (!again.ran()) {
        series_.notes.push_back(fmt::format("batch {} ran at first, and for {} steps it did not: {}", batch,
                                            settings_.verify_steps, word_of(again.outcome)));
        continue;
      }
      if (!leaves_margin(again)) {
        series_.notes.push_back(fmt::format("batch {} took {} over {} steps, which leaves too little", batch,
                                            base::human_bytes(again.peak_bytes), settings_.verify_steps));
        continue;
      }
      series_.recommended = {
          .batch = batch,
          .margin = settings_.margin,
          .verified_steps = again.steady_steps,
          .peak_bytes = again.peak_bytes,
          .samples_per_second = again.samples_per_second,
          .why = fmt::format("{}; it ran again for {} steps",
                             batch == knee ? "the knee" : "the most below the knee that keeps the margin",
                             again.steady_steps)};
      return;
    }
  }

  const SweepSettings& settings_;
  const SweepBounds& bounds_;
  const Measure& measure_;
  std::map<std::uint64_t, SweepPoint> points_;
  std::map<std::uint64_t, SweepPoint> good_;
  std::optional<std::uint64_t> smallest_bad_;
  bool not_tried_ = false;
  SweepSeries series_;
};

}  // namespace

size::BatchLine peak_line(std::vector<double> batches, std::vector<double> peaks) {
  // Small batches leave parts of heaps unused, which bends the line: the larger half tells more.
  const auto skipped = static_cast<std::ptrdiff_t>(batches.size() > 4 ? batches.size() / 2 : 0);
  batches.erase(batches.begin(), batches.begin() + skipped);
  peaks.erase(peaks.begin(), peaks.begin() + skipped);
  const base::StraightLine line = base::StraightLine::through(batches, peaks);
  return {line.base, line.slope};
}

SweepSeries run_sweep(const SweepSettings& settings, const SweepBounds& bounds, const Measure& measure) {
  return Sweep(settings, bounds, measure).run();
}

}  // namespace anymps::lab::runbook::sweep
