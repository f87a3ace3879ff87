#include "lab/runbook/sweep/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lab/html/chart.h"

namespace anymps::lab::runbook::sweep {
namespace {

using document::FigureKind;

// `workers "2", checkpointing "true"`: values as JSON has them.
std::string axes_text(const SweepSeries& series) {
  std::string text;
  for (const auto& [name, value] : series.axes) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, nlohmann::json(value).dump());
  }
  return text;
}

}  // namespace

std::string sweep_headline(const SweepDocument& document) {
  std::string text;
  for (const SweepSeries& series : document.series) {
    if (!series.recommended) continue;
    const std::uint64_t batch = series.recommended->batch;
    text += fmt::format("{}batch {}", text.empty() ? "" : "; ",
                        html::value_text(static_cast<double>(batch), html::Unit::kNumber));
    if (const auto point = std::ranges::find(series.points, batch, &SweepPoint::batch); point != series.points.end()) {
      text += fmt::format(", {} samples/s", html::value_text(point->samples_per_second, html::Unit::kNumber));
    }
  }
  return text;
}

std::vector<document::Figure> sweep_figures(const SweepDocument& document) {
  std::vector<document::Figure> figures;
  for (const SweepSeries& series : document.series) {
    const std::string axes = axes_text(series);
    for (const SweepPoint& point : series.points) {
      if (!point.ran()) continue;
      const std::string place = fmt::format("batch {}{}{}", point.batch, axes.empty() ? "" : ", ", axes);
      figures.push_back({"samples_per_second", place, FigureKind::kRate, point.samples_per_second, point.samples_low,
                         point.samples_high});
      figures.push_back({"step_seconds", place, FigureKind::kSeconds, point.step_seconds, {}, {}});
      figures.push_back({"peak_bytes", place, FigureKind::kBytes, static_cast<double>(point.peak_bytes), {}, {}});
    }
    if (series.knee) {
      figures.push_back({"knee_batch", axes, FigureKind::kOther, static_cast<double>(series.knee->batch), {}, {}});
    }
    if (series.recommended) {
      const auto batch = static_cast<double>(series.recommended->batch);
      figures.push_back({"recommended_batch", axes, FigureKind::kOther, batch, {}, {}});
    }
  }
  return figures;
}

}  // namespace anymps::lab::runbook::sweep
