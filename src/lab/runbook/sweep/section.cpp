#include "lab/runbook/sweep/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/sweep/sweep.h"

namespace anymps::lab::runbook::sweep {
namespace {

using Run = section::DocumentRun<SweepDocument>;
using Runs = section::DocumentRuns<SweepDocument>;

constexpr std::size_t kPointColumns = 10;

// An estimate so many times above all that ran would press the curve to the ground: it has its mark alone.
constexpr double kFurthest = 8;

// What the charts of all runs have in common, so that they can be compared.
struct Extent {
  std::optional<double> low;
  std::optional<double> high;

  void take(const std::optional<double>& value) {
    if (!value) return;
    low = std::min(low.value_or(*value), *value);
    high = std::max(high.value_or(*value), *value);
  }
};

struct Extents {
  Extent batch;
  Extent speed;
  Extent memory;
};

std::string series_axes_text(const SweepSeries& series) {
  std::string text;
  for (const auto& [name, value] : series.axes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  return text;
}

std::string series_name(const Run& run, const SweepSeries& series, bool several_runs) {
  std::string axes = run.document.series.size() > 1 ? series_axes_text(series) : std::string();
  if (!several_runs) return axes;
  return axes.empty() ? run.label : run.label + ", " + axes;
}

std::string read_out(const SweepPoint& point) {
  return fmt::format("batch {}, {} samples/s ({} to {}), peak {}", point.batch,
                     html::value_text(point.samples_per_second, html::Unit::kNumber),
                     html::value_text(point.samples_low, html::Unit::kNumber),
                     html::value_text(point.samples_high, html::Unit::kNumber),
                     html::value_text(static_cast<double>(point.peak_bytes), html::Unit::kBytes));
}

// Of what ran: nothing was measured where it did not.
template <typename Draw>
std::vector<html::ChartPoint> curve(const SweepSeries& series, const Draw& draw) {
  std::vector<html::ChartPoint> points;
  for (const SweepPoint& point : series.points) {
    if (point.ran()) points.push_back(draw(point));
  }
  std::ranges::sort(points, {}, &html::ChartPoint::x);
  return points;
}

std::vector<html::ChartPoint> speed_curve(const SweepSeries& series) {
  return curve(series, [](const SweepPoint& point) {
    return html::ChartPoint{static_cast<double>(point.batch), point.samples_per_second, point.samples_low,
                            point.samples_high, read_out(point)};
  });
}

std::vector<html::ChartPoint> peak_curve(const SweepSeries& series) {
  return curve(series, [](const SweepPoint& point) {
    return html::ChartPoint{
        static_cast<double>(point.batch), static_cast<double>(point.peak_bytes), {}, {}, read_out(point)};
  });
}

// Where memory is to end, of a sweep that did not get there: on the line through what ran.
std::optional<html::ChartPoint> estimated_edge(const SweepSeries& series) {
  if (!series.edge || !series.edge->extrapolated) return std::nullopt;
  const auto batch = static_cast<double>(series.edge->largest_good);
  std::vector<double> batches;
  std::vector<double> peaks;
  for (const html::ChartPoint& point : peak_curve(series)) {
    batches.push_back(point.x);
    peaks.push_back(point.y);
  }
  if (peaks.size() < 2) return std::nullopt;
  const double highest = std::ranges::max(peaks);
  const size::BatchLine line = peak_line(std::move(batches), std::move(peaks));
  const double peak = line.base + line.per_sample * batch;
  if (peak > kFurthest * highest) return std::nullopt;
  const std::string text =
      fmt::format("batch {}, peak {}, extrapolated, not run", html::value_text(batch, html::Unit::kNumber),
                  html::value_text(peak, html::Unit::kBytes));
  return html::ChartPoint{batch, peak, {}, {}, text, true};
}

std::vector<html::ChartPoint> memory_curve(const SweepSeries& series) {
  std::vector<html::ChartPoint> points = peak_curve(series);
  if (auto edge = estimated_edge(series)) points.push_back(std::move(*edge));
  std::ranges::sort(points, {}, &html::ChartPoint::x);
  return points;
}

// Whose marks `style` names belong to one of several runs.
void add_marks(html::LineChart& chart, const SweepSeries& series, std::optional<std::size_t> style, bool with_knee) {
  const auto mark = [&](std::uint64_t batch, const char* word) {
    const auto at = static_cast<double>(batch);
    chart.marks.push_back({at, fmt::format("{} {}", word, html::value_text(at, html::Unit::kNumber)), style});
  };
  if (with_knee && series.knee) mark(series.knee->batch, "knee");
  if (series.recommended) mark(series.recommended->batch, "use");
  if (!series.edge) return;
  if (series.edge->smallest_bad) {
    mark(*series.edge->smallest_bad, "fails");
  } else {
    // Nothing failed where the limit itself is the edge, reached or only expected.
    mark(series.edge->largest_good, series.edge->extrapolated ? "fits (estimated)" : "fits");
  }
}

std::optional<double> limit_of(const SweepSeries& series) {
  std::optional<double> limit;
  for (const SweepPoint& point : series.points) {
    if (point.limit_bytes > 0) limit = static_cast<double>(point.limit_bytes);
  }
  return limit;
}

std::string sweep_charts(const Runs& runs, const Extents& common, bool with_knee) {
  html::LineChart speed;
  speed.title = "Throughput";
  speed.note = "samples per second over the batch size; the band is the spread";
  speed.x = {"batch size", html::Unit::kNumber, html::AxisKind::kLog2, false, common.batch.low, common.batch.high};
  speed.y = {"", html::Unit::kNumber, html::AxisKind::kLinear, true, {}, common.speed.high};
  html::LineChart memory;
  memory.title = "Peak memory";
  memory.note = "over the batch size";
  memory.x = speed.x;
  memory.y = {"", html::Unit::kBytes, html::AxisKind::kLinear, true, {}, common.memory.high};
  const bool several = runs.size() > 1;
  for (const Run& run : runs) {
    std::size_t style = run.style;
    for (const SweepSeries& series : run.document.series) {
      const std::string name = series_name(run, series, several);
      speed.series.push_back({name, style, speed_curve(series)});
      memory.series.push_back({name, style, memory_curve(series)});
      const auto mark_style = several ? std::optional(style) : std::nullopt;
      add_marks(speed, series, mark_style, with_knee);
      add_marks(memory, series, mark_style, false);
      if (const auto limit = limit_of(series)) {
        const std::string text =
            fmt::format("limit {}{}", html::value_text(*limit, html::Unit::kBytes), several ? ", " + run.label : "");
        const bool known = std::ranges::any_of(memory.thresholds, [&](const auto& line) { return line.text == text; });
        if (!known) memory.thresholds.push_back({*limit, text});
      }
      ++style;
    }
  }
  return section::chart_row(html::draw(speed) + html::draw(memory));
}

section::Cell spread_cell(const SweepPoint& point) {
  return {html::escaped(fmt::format("{:.4g} to {:.4g}", point.samples_low, point.samples_high)),
          point.samples_high - point.samples_low};
}

std::string points_table(const SweepSeries& series) {
  section::Table table("Points of the sweep", {"#batch", "outcome", "#samples/s", "#spread", "#peak", "#of the limit",
                                               "#step", "#first step", "#first/steady", "#steps"});
  const auto cell = section::number_cell;
  for (const SweepPoint& point : series.points) {
    const auto tone = point.ran() ? section::Tone::kGood : section::Tone::kBad;
    std::vector<section::Cell> row = {cell(static_cast<double>(point.batch), html::Unit::kNumber),
                                      section::badge_cell(tone, word_of(point.outcome))};
    if (point.ran()) {
      row.insert(
          row.end(),
          {cell(point.samples_per_second, html::Unit::kNumber), spread_cell(point),
           cell(static_cast<double>(point.peak_bytes), html::Unit::kBytes),
           cell(point.watermark_share(), html::Unit::kShare), cell(point.step_seconds, html::Unit::kSeconds),
           cell(point.first_step_seconds, html::Unit::kSeconds), cell(point.first_over_steady(), html::Unit::kNumber),
           cell(static_cast<double>(point.steady_steps), html::Unit::kNumber)});
    }
    while (row.size() < kPointColumns) row.push_back(cell(std::nullopt, html::Unit::kNumber));
    table.add(std::move(row));
  }
  return table.html();
}

std::string batch_card(std::uint64_t batch, const char* label) {
  return html::card(html::value_text(static_cast<double>(batch), html::Unit::kNumber), label);
}

std::string cards_of(const SweepSeries& series) {
  std::string cards;
  if (series.recommended) cards += batch_card(series.recommended->batch, "recommended batch");
  if (series.knee) cards += batch_card(series.knee->batch, "knee");
  if (series.edge) {
    cards += batch_card(series.edge->largest_good,
                        series.edge->extrapolated ? "largest that fits, estimated" : "largest that ran");
    if (series.edge->smallest_bad) cards += batch_card(*series.edge->smallest_bad, "smallest that failed");
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

// What it found, and why, of one series.
std::string findings(const SweepSeries& series) {
  std::string reasons;
  const auto reason = [&reasons](const char* word, const std::string& why) {
    reasons += fmt::format("<li><b>{}:</b> {}</li>\n", word, html::escaped(why));
  };
  if (series.recommended) {
    reason("Recommended", series.recommended->why);
    reason("Margin",
           fmt::format("{}, run again for {} steps", html::value_text(series.recommended->margin, html::Unit::kShare),
                       series.recommended->verified_steps));
  }
  if (series.knee) reason("Knee", series.knee->why);
  if (series.edge) reason("Edge", series.edge->why);
  return cards_of(series) + (reasons.empty() ? "" : "<ul>\n" + reasons + "</ul>\n") + section::bullets(series.notes);
}

Extents extents_of(const Runs& runs) {
  Extents common;
  for (const Run& run : runs) {
    for (const SweepSeries& series : run.document.series) {
      for (const SweepPoint& point : series.points) {
        common.batch.take(static_cast<double>(point.batch));
        common.speed.take(std::max(point.samples_per_second, point.samples_high));
        common.memory.take(static_cast<double>(point.peak_bytes));
      }
      if (const auto edge = estimated_edge(series)) {
        common.batch.take(edge->x);
        common.memory.take(edge->y);
      }
    }
  }
  return common;
}

}  // namespace

std::string sweep_section(const Runs& runs) {
  const Extents common = extents_of(runs);
  std::string html;
  if (runs.size() > 1) html += sweep_charts(runs, common, false);
  return html + section::beside(runs, [&](const Run& run) {
           const std::vector<SweepSeries>& all = run.document.series;
           std::string part;
           for (const SweepSeries& series : all) {
             const std::string name = all.size() > 1 ? series_axes_text(series) : std::string();
             part += name.empty() ? findings(series) : section::titled(name, findings(series));
           }
           part += sweep_charts({run}, common, all.size() == 1);
           for (const SweepSeries& series : all) {
             const std::string name = series_axes_text(series);
             part += section::titled(name.empty() ? "Points" : "Points, " + name, points_table(series));
           }
           return part + section::titled("Notes", section::bullets(run.document.notes));
         });
}

}  // namespace anymps::lab::runbook::sweep
