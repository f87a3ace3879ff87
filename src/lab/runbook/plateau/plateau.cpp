#include "lab/runbook/plateau/plateau.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "lab/base/counted.h"
#include "lab/base/least_squares.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::plateau {
namespace {

using nlohmann::json;

// Student's t at 97.5%, for 1 degree of freedom and more.
double t_quantile(std::size_t freedom) {
  constexpr std::array kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom == 0) return INFINITY;
  return freedom <= kTable.size() ? kTable[freedom - 1] : 1.96 + 2.5 / static_cast<double>(freedom);
}

std::vector<Epoch> epochs_of(const std::vector<trial::RecordedEpoch>& recorded) {
  std::vector<Epoch> epochs;
  for (const trial::RecordedEpoch& epoch : recorded) {
    epochs.push_back({.index = epoch.index,
                      .steps = epoch.steps,
                      .seconds = epoch.seconds,
                      .tensor_bytes = epoch.tensor_bytes,
                      .flushed_bytes = epoch.flushed_bytes,
                      .driver_bytes = epoch.driver_bytes,
                      .resident_bytes = epoch.resident_bytes});
  }
  return epochs;
}

std::vector<double> judged_bytes(const MemoryCurve& curve) {
  std::vector<double> values;
  for (const Epoch& epoch : curve.epochs) {
    values.push_back(
        static_cast<double>(curve.measure == Measure::kTensors ? epoch.flushed_bytes : epoch.resident_bytes));
  }
  return values;
}

std::string per_epoch(std::optional<double> slope) {
  const double bytes = slope.value_or(0);
  return (bytes < 0 ? "-" : "") + base::human_bytes(static_cast<std::uint64_t>(std::abs(bytes)));
}

// From a value to a lower one after it.
double largest_fall(const std::vector<double>& values) {
  double highest = values.front();
  double fall = 0;
  for (const double value : values) {
    highest = std::max(highest, value);
    fall = std::max(fall, highest - value);
  }
  return fall;
}

// What makes a verdict clearer, of a curve that is judged.
void add_notes(MemoryCurve& curve, const Slope& slope) {
  const double rise = curve.rise_share.value_or(0);
  if (curve.is_beyond_threshold() && !curve.grows) {
    curve.notes.push_back(
        fmt::format("the last epoch ended {:.0f}% above the first, and yet it does not grow: it goes up and down, by "
                    "{} to {} an epoch",
                    100 * rise, per_epoch(slope.low), per_epoch(slope.high)));
  }
  if (curve.verdict() == document::Verdict::kGood && slope.low > 0 && rise > 0.01) {
    curve.notes.push_back(fmt::format("below the threshold, and yet it grows by {} an epoch ({} to {})",
                                      per_epoch(slope.bytes_per_epoch), per_epoch(slope.low), per_epoch(slope.high)));
  }
  if (curve.measure == Measure::kResident) {
    curve.notes.emplace_back(
        "the training is not on a device whose memory can be asked for: this is the process's resident set, which the "
        "C library's allocator rounds up");
  }
}

}  // namespace

Slope slope_of(std::span<const double> values) {
  const base::StraightLine line = base::StraightLine::over_index(values);
  const auto count = static_cast<double>(values.size());
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double left = values[i] - line.at(static_cast<double>(i));
    squares += left * left;
  }
  // The sum of the squares of how far 0, 1, 2, ... are from their mean.
  const double along = count * (count * count - 1) / 12;
  const double freedom = count - 2;
  if (freedom <= 0) return {.bytes_per_epoch = line.slope, .low = std::nullopt, .high = std::nullopt};
  const double reach = t_quantile(values.size() - 2) * std::sqrt(squares / freedom / along);
  return {.bytes_per_epoch = line.slope, .low = line.slope - reach, .high = line.slope + reach};
}

std::vector<GrowingSite> growing_sites(const std::vector<json>& sites) {
  std::vector<GrowingSite> growing;
  if (sites.size() < 2) return growing;
  const auto bytes_at = [&sites](std::size_t epoch, const std::string& site, std::size_t place) {
    const auto row = sites[epoch].find(site);
    return row != sites[epoch].end() && row->is_array() && row->size() > place ? (*row)[place].get<double>() : 0.0;
  };
  const auto rounds = static_cast<double>(sites.size() - 1);
  for (const auto& [site, row] : sites.back().items()) {
    bool grows = row.is_array() && row.size() == 3;
    for (std::size_t epoch = 1; grows && epoch < sites.size(); ++epoch) {
      grows = bytes_at(epoch, site, 0) > bytes_at(epoch - 1, site, 0);
    }
    if (!grows) continue;
    const std::size_t last = sites.size() - 1;
    growing.push_back({site, (bytes_at(last, site, 0) - bytes_at(0, site, 0)) / rounds,
                       (bytes_at(last, site, 1) - bytes_at(0, site, 1)) / rounds, row[2].get<std::string>()});
  }
  std::ranges::sort(growing, std::greater{}, &GrowingSite::bytes_per_epoch);
  return growing;
}

MemoryCurve judge_plateau(const std::vector<trial::RecordedEpoch>& epochs, std::uint64_t asked, double threshold) {
  MemoryCurve curve;
  curve.epochs = epochs_of(epochs);
  curve.slope = Slope{.bytes_per_epoch = 0, .low = 0, .high = 0};
  curve.rise_share = 0;
  curve.threshold = threshold;
  const bool tensors = std::ranges::any_of(curve.epochs, [](const Epoch& epoch) { return epoch.flushed_bytes > 0; });
  curve.measure = tensors ? Measure::kTensors : Measure::kResident;
  if (epochs.size() < kFewestEpochs) {
    curve.notes.push_back(
        fmt::format("only {} of the script {} seen, and {} are the fewest to judge by: have it run more, or say by "
                    "--epoch-steps how many steps count as one",
                    base::counted(epochs.size(), "epoch"), epochs.size() == 1 ? "was" : "were", kFewestEpochs));
    return curve;
  }
  const std::vector<double> values = judged_bytes(curve);
  const Slope slope = slope_of(values);
  curve.slope = slope;
  const double rise = values.front() > 0 ? (values.back() - values.front()) / values.front() : 0;
  curve.rise_share = rise;
  if (epochs.size() < asked) {
    curve.rise_share = rise * static_cast<double>(asked - 1) / static_cast<double>(epochs.size() - 1);
    curve.notes.push_back(fmt::format("the script ended after {}; their growth was carried on to {}",
                                      base::counted(epochs.size(), "epoch"), asked));
  }
  // Two ends alone tell little of memory that goes up and down, as an allocator's does that gives out larger buffers
  // than were asked for.
  curve.grows = slope.low > 0 || largest_fall(values) < (values.back() - values.front()) / 2;
  add_notes(curve, slope);
  return curve;
}

}  // namespace anymps::lab::runbook::plateau
