#include "lab/runbook/plateau/plateau.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "lab/base/counted.h"
#include "lab/base/least_squares.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::plateau {
namespace {

using nlohmann::json;

constexpr std::size_t kFewest = 3;

// Student's t at 97.5%, for 1 degree of freedom and more.
double t_quantile(std::size_t freedom) {
  constexpr std::array kTable = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  if (freedom == 0) return INFINITY;
  return freedom <= kTable.size() ? kTable[freedom - 1] : 1.96 + 2.5 / static_cast<double>(freedom);
}

std::vector<double> measured(const std::vector<trial::RecordedEpoch>& epochs, bool tensors) {
  std::vector<double> values;
  for (const trial::RecordedEpoch& epoch : epochs) {
    values.push_back(static_cast<double>(tensors ? epoch.flushed_bytes : epoch.resident_bytes));
  }
  return values;
}

std::string per_epoch(double bytes) {
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
  const double reach = freedom > 0 ? t_quantile(values.size() - 2) * std::sqrt(squares / freedom / along) : INFINITY;
  return {line.slope, line.slope - reach, line.slope + reach};
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

Plateau judge_plateau(const std::vector<trial::RecordedEpoch>& epochs, std::uint64_t asked, double threshold) {
  Plateau plateau;
  const bool tensors =
      std::ranges::any_of(epochs, [](const trial::RecordedEpoch& epoch) { return epoch.flushed_bytes > 0; });
  plateau.measure = tensors ? "tensors" : "resident";
  if (epochs.size() < kFewest) {
    plateau.notes.push_back(
        fmt::format("only {} of the script {} seen, and {} are the fewest to judge by: have it run more, or say by "
                    "--epoch-steps how many steps count as one",
                    base::counted(epochs.size(), "epoch"), epochs.size() == 1 ? "was" : "were", kFewest));
    return plateau;
  }
  const std::vector<double> values = measured(epochs, tensors);
  plateau.slope = slope_of(values);
  const double rise = values.front() > 0 ? (values.back() - values.front()) / values.front() : 0;
  plateau.rise_share = rise;
  if (epochs.size() < asked) {
    plateau.rise_share = rise * static_cast<double>(asked - 1) / static_cast<double>(epochs.size() - 1);
    plateau.notes.push_back(fmt::format("the script ended after {}; their growth was carried on to {}",
                                        base::counted(epochs.size(), "epoch"), asked));
  }
  // Two ends alone tell little of memory that goes up and down, as an allocator's does that gives out larger buffers
  // than were asked for.
  plateau.grows = plateau.slope.low > 0 || largest_fall(values) < (values.back() - values.front()) / 2;
  const bool is_beyond = plateau.rise_share > threshold;
  plateau.verdict = is_beyond && plateau.grows ? document::Verdict::kBad : document::Verdict::kGood;
  if (is_beyond && !plateau.grows) {
    plateau.notes.push_back(
        fmt::format("the last epoch ended {:.0f}% above the first, and yet it does not grow: it goes up and down, by "
                    "{} to {} an epoch",
                    100 * plateau.rise_share, per_epoch(plateau.slope.low), per_epoch(plateau.slope.high)));
  }
  if (plateau.verdict == document::Verdict::kGood && plateau.slope.low > 0 && plateau.rise_share > 0.01) {
    plateau.notes.push_back(fmt::format("below the threshold, and yet it grows by {} an epoch ({} to {})",
                                        per_epoch(plateau.slope.each), per_epoch(plateau.slope.low),
                                        per_epoch(plateau.slope.high)));
  }
  if (!tensors) {
    plateau.notes.emplace_back(
        "the training is not on a device whose memory can be asked for: this is the process's resident set, which the "
        "C library's allocator rounds up");
  }
  return plateau;
}

json plateau_json(const Plateau& plateau, const std::vector<trial::RecordedEpoch>& epochs, double threshold) {
  auto rows = json::array();
  for (const trial::RecordedEpoch& epoch : epochs) {
    rows.push_back({{"index", epoch.index},
                    {"steps", epoch.steps},
                    {"seconds", epoch.seconds},
                    {"tensor_bytes", epoch.tensor_bytes},
                    {"flushed_bytes", epoch.flushed_bytes},
                    {"driver_bytes", epoch.driver_bytes},
                    {"resident_bytes", epoch.resident_bytes}});
  }
  const auto finite = [](double value) { return std::isfinite(value) ? json(value) : json(); };
  return {{"epochs", rows},
          {"measure", plateau.measure},
          {"slope",
           {{"bytes_per_epoch", plateau.slope.each},
            {"low", finite(plateau.slope.low)},
            {"high", finite(plateau.slope.high)}}},
          {"rise_share", plateau.rise_share},
          {"grows", plateau.grows},
          {"threshold", threshold},
          {"sites", json::array()},
          {"notes", plateau.notes}};
}

}  // namespace anymps::lab::runbook::plateau
