#include "lab/runbook/sweep/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/document/fields.h"
#include "lab/runbook/sweep/sweep.h"

namespace anymps::lab::runbook::sweep {
namespace {

using nlohmann::json;

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

std::string series_axes_text(const json& series) {
  std::string text;
  for (const auto& [name, value] : document::object_in(series, "axes").items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, document::in_words(value));
  }
  return text;
}

std::string series_name(const section::ReportRun& run, const json& series, bool several_runs) {
  std::string axes = document::list_in(run.document, "series").size() > 1 ? series_axes_text(series) : std::string();
  if (!several_runs) return axes;
  return axes.empty() ? run.label : run.label + ", " + axes;
}

// Nothing was measured where it did not run.
bool is_measured(const json& point) { return document::words_in(point, "outcome") == "ran"; }

std::optional<double> measured_in(const json& point, const char* field) {
  return is_measured(point) ? document::number_in(point, field) : std::nullopt;
}

std::string read_out(const json& point) {
  std::string text = fmt::format("batch {}", document::words_in(point, "batch"));
  if (const auto speed = document::number_in(point, "samples_per_second")) {
    text += fmt::format(", {} samples/s", html::value_text(*speed, html::Unit::kNumber));
    const auto low = document::number_in(point, "samples_low");
    const auto high = document::number_in(point, "samples_high");
    if (low && high) {
      text += fmt::format(" ({} to {})", html::value_text(*low, html::Unit::kNumber),
                          html::value_text(*high, html::Unit::kNumber));
    }
  }
  if (const auto peak = document::number_in(point, "peak_bytes"))
    text += ", peak " + html::value_text(*peak, html::Unit::kBytes);
  if (const std::string outcome = document::words_in(point, "outcome"); outcome != "ran") text += ", " + outcome;
  return text;
}

std::vector<html::ChartPoint> sweep_curve(const json& series, const char* field, const char* low, const char* high) {
  std::vector<html::ChartPoint> points;
  for (const json& point : document::list_in(series, "points")) {
    const auto batch = document::number_in(point, "batch");
    const auto value = measured_in(point, field);
    if (!batch || !value) continue;
    points.push_back(
        {*batch, *value, document::number_in(point, low), document::number_in(point, high), read_out(point)});
  }
  std::ranges::sort(points, {}, &html::ChartPoint::x);
  return points;
}

// Where memory is to end, of a sweep that did not get there: on the line through what ran.
std::optional<html::ChartPoint> estimated_edge(const json& series) {
  const json& edge = document::object_in(series, "edge");
  const auto batch = document::number_in(edge, "largest_good");
  if (!document::flag_in(edge, "extrapolated") || !batch) return std::nullopt;
  std::vector<double> batches;
  std::vector<double> peaks;
  for (const html::ChartPoint& point : sweep_curve(series, "peak_bytes", "", "")) {
    batches.push_back(point.x);
    peaks.push_back(point.y);
  }
  if (peaks.size() < 2) return std::nullopt;
  const double highest = std::ranges::max(peaks);
  const size::BatchLine line = peak_line(std::move(batches), std::move(peaks));
  const double peak = line.base + line.per_sample * *batch;
  if (peak > kFurthest * highest) return std::nullopt;
  const std::string text =
      fmt::format("batch {}, peak {}, extrapolated, not run", html::value_text(*batch, html::Unit::kNumber),
                  html::value_text(peak, html::Unit::kBytes));
  return html::ChartPoint{*batch, peak, {}, {}, text, true};
}

std::vector<html::ChartPoint> memory_curve(const json& series) {
  std::vector<html::ChartPoint> points = sweep_curve(series, "peak_bytes", "", "");
  if (auto edge = estimated_edge(series)) points.push_back(std::move(*edge));
  std::ranges::sort(points, {}, &html::ChartPoint::x);
  return points;
}

// Whose marks `style` names belong to one of several runs.
void add_marks(html::LineChart& chart, const json& series, std::optional<std::size_t> style, bool with_knee) {
  const auto mark = [&](const json& batch_holder, const char* field, const char* word) {
    if (const auto batch = document::number_in(batch_holder, field)) {
      chart.marks.push_back({*batch, fmt::format("{} {}", word, html::value_text(*batch, html::Unit::kNumber)), style});
    }
  };
  if (with_knee) mark(document::object_in(series, "knee"), "batch", "knee");
  mark(document::object_in(series, "recommended"), "batch", "use");
  const json& edge = document::object_in(series, "edge");
  if (document::number_in(edge, "smallest_bad")) {
    mark(edge, "smallest_bad", "fails");
  } else {
    // Nothing failed where the limit itself is the edge, reached or only expected.
    mark(edge, "largest_good", document::flag_in(edge, "extrapolated") ? "fits (estimated)" : "fits");
  }
}

std::optional<double> limit_of(const json& series) {
  std::optional<double> limit;
  for (const json& point : document::list_in(series, "points")) {
    if (const auto bytes = document::number_in(point, "limit_bytes"); bytes && *bytes > 0) limit = bytes;
  }
  return limit;
}

std::string sweep_charts(const section::ReportRuns& runs, const Extents& common, bool with_knee) {
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
  for (const section::ReportRun& run : runs) {
    std::size_t style = run.style;
    for (const json& series : document::list_in(run.document, "series")) {
      const std::string name = series_name(run, series, several);
      speed.series.push_back({name, style, sweep_curve(series, "samples_per_second", "samples_low", "samples_high")});
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

section::Tone outcome_tone(const std::string& outcome) {
  return outcome == "ran" ? section::Tone::kGood : section::Tone::kBad;
}

section::Cell spread_cell(const json& point) {
  const auto low = measured_in(point, "samples_low");
  const auto high = measured_in(point, "samples_high");
  if (!low || !high) return section::number_cell(std::nullopt);
  return {html::escaped(fmt::format("{:.4g} to {:.4g}", *low, *high)), *high - *low};
}

std::string points_table(const json& series) {
  section::Table table("Points of the sweep", {"#batch", "outcome", "#samples/s", "#spread", "#peak", "#of the limit",
                                               "#step", "#first step", "#first/steady", "#steps"});
  for (const json& point : document::list_in(series, "points")) {
    const std::string outcome = document::words_in(point, "outcome");
    table.add({section::number_cell(document::number_in(point, "batch")),
               section::badge_cell(outcome_tone(outcome), outcome),
               section::number_cell(measured_in(point, "samples_per_second")), spread_cell(point),
               section::number_cell(measured_in(point, "peak_bytes"), html::Unit::kBytes),
               section::number_cell(measured_in(point, "watermark_share"), html::Unit::kShare),
               section::number_cell(measured_in(point, "step_seconds"), html::Unit::kSeconds),
               section::number_cell(measured_in(point, "first_step_seconds"), html::Unit::kSeconds),
               section::number_cell(measured_in(point, "first_over_steady")),
               section::number_cell(measured_in(point, "steady_steps"))});
  }
  return table.html();
}

std::string batch_card(const json& holder, const char* field, const char* label) {
  const auto batch = document::number_in(holder, field);
  return batch ? html::card(html::value_text(*batch, html::Unit::kNumber), label) : "";
}

// What it found, and why, of one series.
std::string findings(const json& series) {
  const json& recommended = document::object_in(series, "recommended");
  const json& edge = document::object_in(series, "edge");
  const json& knee = document::object_in(series, "knee");
  const bool estimated = document::flag_in(edge, "extrapolated");
  std::string cards =
      batch_card(recommended, "batch", "recommended batch") + batch_card(knee, "batch", "knee") +
      batch_card(edge, "largest_good", estimated ? "largest that fits, estimated" : "largest that ran") +
      batch_card(edge, "smallest_bad", "smallest that failed");
  std::string reasons;
  const auto reason = [&reasons](const char* word, const json& holder) {
    if (const std::string why = document::words_in(holder, "why"); !why.empty()) {
      reasons += fmt::format("<li><b>{}:</b> {}</li>\n", word, html::escaped(why));
    }
  };
  reason("Recommended", recommended);
  if (const auto margin = document::number_in(recommended, "margin")) {
    reasons += fmt::format("<li><b>Margin:</b> {}", html::escaped(html::value_text(*margin, html::Unit::kShare)));
    if (const auto steps = document::number_in(recommended, "verified_steps")) {
      reasons += fmt::format(", run again for {} steps", html::escaped(html::value_text(*steps, html::Unit::kNumber)));
    }
    reasons += "</li>\n";
  }
  reason("Knee", knee);
  reason("Edge", edge);
  if (!cards.empty()) cards = "<div class=\"cards\">\n" + cards + "</div>\n";
  return cards + (reasons.empty() ? "" : "<ul>\n" + reasons + "</ul>\n") +
         section::bullets(document::list_in(series, "notes"));
}

}  // namespace

std::string sweep_section(const section::ReportRuns& runs) {
  Extents common;
  for (const section::ReportRun& run : runs) {
    for (const json& series : document::list_in(run.document, "series")) {
      for (const json& point : document::list_in(series, "points")) {
        common.batch.take(document::number_in(point, "batch"));
        common.speed.take(document::number_in(point, "samples_per_second"));
        common.speed.take(document::number_in(point, "samples_high"));
        common.memory.take(document::number_in(point, "peak_bytes"));
      }
      if (const auto edge = estimated_edge(series)) {
        common.batch.take(edge->x);
        common.memory.take(edge->y);
      }
    }
  }
  std::string html;
  if (runs.size() > 1) html += sweep_charts(runs, common, false);
  return html + section::beside(runs, [&](const section::ReportRun& run) {
           const json& all = document::list_in(run.document, "series");
           std::string part;
           for (const json& series : all) {
             const std::string name = all.size() > 1 ? series_axes_text(series) : std::string();
             part += name.empty() ? findings(series) : section::titled(name, findings(series));
           }
           part += sweep_charts({run}, common, all.size() == 1);
           for (const json& series : all) {
             const std::string name = series_axes_text(series);
             part += section::titled(name.empty() ? "Points" : "Points, " + name, points_table(series));
           }
           return part + section::titled("Notes", section::bullets(document::list_in(run.document, "notes")));
         });
}

}  // namespace anymps::lab::runbook::sweep
