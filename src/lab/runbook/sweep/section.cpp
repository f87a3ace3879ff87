#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lab/html_page.h"
#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

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
  for (const auto& [name, value] : object_in(series, "axes").items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, text_of(value));
  }
  return text;
}

std::string series_name(const ReportRun& run, const json& series, bool several_runs) {
  std::string axes = list_in(run.document, "series").size() > 1 ? series_axes_text(series) : std::string();
  if (!several_runs) return axes;
  return axes.empty() ? run.label : run.label + ", " + axes;
}

bool is_estimated(const json& point) { return text_in(point, "outcome") == "extrapolated"; }

// Nothing was measured where it did not run.
bool is_measured(const json& point) { return text_in(point, "outcome") == "ran" || is_estimated(point); }

std::optional<double> measured_in(const json& point, const char* field) {
  return is_measured(point) ? number_in(point, field) : std::nullopt;
}

std::string read_out(const json& point) {
  std::string text = fmt::format("batch {}", text_in(point, "batch"));
  if (const auto speed = number_in(point, "samples_per_second")) {
    text += fmt::format(", {} samples/s", value_text(*speed, Unit::kNumber));
    const auto low = number_in(point, "samples_low");
    const auto high = number_in(point, "samples_high");
    if (low && high) {
      text += fmt::format(" ({} to {})", value_text(*low, Unit::kNumber), value_text(*high, Unit::kNumber));
    }
  }
  if (const auto peak = number_in(point, "peak_bytes")) text += ", peak " + value_text(*peak, Unit::kBytes);
  if (const std::string outcome = text_in(point, "outcome"); outcome != "ran") text += ", " + outcome;
  return text;
}

std::vector<ChartPoint> sweep_curve(const json& series, const char* field, const char* low, const char* high) {
  std::vector<ChartPoint> points;
  for (const json& point : list_in(series, "points")) {
    const auto batch = number_in(point, "batch");
    const auto value = measured_in(point, field);
    if (!batch || !value) continue;
    points.push_back(
        {*batch, *value, number_in(point, low), number_in(point, high), read_out(point), is_estimated(point)});
  }
  std::ranges::sort(points, {}, &ChartPoint::x);
  return points;
}

// Whose marks `style` names belong to one of several runs.
void add_marks(LineChart& chart, const json& series, std::optional<std::size_t> style, bool with_knee) {
  const auto mark = [&](const json& batch_holder, const char* field, const char* word) {
    if (const auto batch = number_in(batch_holder, field)) {
      chart.marks.push_back({*batch, fmt::format("{} {}", word, value_text(*batch, Unit::kNumber)), style});
    }
  };
  if (with_knee) mark(object_in(series, "knee"), "batch", "knee");
  mark(object_in(series, "recommended"), "batch", "use");
  const json& edge = object_in(series, "edge");
  mark(edge, "smallest_bad", flag_in(edge, "extrapolated") ? "fails (estimated)" : "fails");
}

std::optional<double> limit_of(const json& series) {
  std::optional<double> limit;
  for (const json& point : list_in(series, "points")) {
    if (const auto bytes = number_in(point, "limit_bytes"); bytes && *bytes > 0) limit = bytes;
  }
  return limit;
}

std::string sweep_charts(const ReportRuns& runs, const Extents& common, bool with_knee) {
  LineChart speed;
  speed.title = "Throughput";
  speed.note = "samples per second over the batch size; the band is the spread";
  speed.x = {"batch size", Unit::kNumber, AxisKind::kLog2, false, common.batch.low, common.batch.high};
  speed.y = {"", Unit::kNumber, AxisKind::kLinear, true, {}, common.speed.high};
  LineChart memory;
  memory.title = "Peak memory";
  memory.note = "over the batch size";
  memory.x = speed.x;
  memory.y = {"", Unit::kBytes, AxisKind::kLinear, true, {}, common.memory.high};
  const bool several = runs.size() > 1;
  for (const ReportRun& run : runs) {
    std::size_t style = run.style;
    for (const json& series : list_in(run.document, "series")) {
      const std::string name = series_name(run, series, several);
      speed.series.push_back({name, style, sweep_curve(series, "samples_per_second", "samples_low", "samples_high")});
      memory.series.push_back({name, style, sweep_curve(series, "peak_bytes", "", "")});
      const auto mark_style = several ? std::optional(style) : std::nullopt;
      add_marks(speed, series, mark_style, with_knee);
      add_marks(memory, series, mark_style, false);
      if (const auto limit = limit_of(series)) {
        const std::string text =
            fmt::format("limit {}{}", value_text(*limit, Unit::kBytes), several ? ", " + run.label : "");
        const bool known = std::ranges::any_of(memory.thresholds, [&](const auto& line) { return line.text == text; });
        if (!known) memory.thresholds.push_back({*limit, text});
      }
      ++style;
    }
  }
  return chart_row(draw(speed) + draw(memory));
}

Tone outcome_tone(const std::string& outcome) {
  if (outcome == "ran") return Tone::kGood;
  return outcome == "extrapolated" ? Tone::kClose : Tone::kBad;
}

Cell spread_cell(const json& point) {
  const auto low = measured_in(point, "samples_low");
  const auto high = measured_in(point, "samples_high");
  if (!low || !high) return number_cell(std::nullopt);
  return {escaped(fmt::format("{:.4g} to {:.4g}", *low, *high)), *high - *low};
}

std::string points_table(const json& series) {
  Table table("Points of the sweep", {"#batch", "outcome", "#samples/s", "#spread", "#peak", "#of the limit", "#step",
                                      "#first step", "#first/steady", "#steps"});
  for (const json& point : list_in(series, "points")) {
    const std::string outcome = text_in(point, "outcome");
    table.add({number_cell(number_in(point, "batch")), badge_cell(outcome_tone(outcome), outcome),
               number_cell(measured_in(point, "samples_per_second")), spread_cell(point),
               number_cell(measured_in(point, "peak_bytes"), Unit::kBytes),
               number_cell(measured_in(point, "watermark_share"), Unit::kShare),
               number_cell(measured_in(point, "step_seconds"), Unit::kSeconds),
               number_cell(measured_in(point, "first_step_seconds"), Unit::kSeconds),
               number_cell(measured_in(point, "first_over_steady")), number_cell(measured_in(point, "steady_steps"))});
  }
  return table.html();
}

std::string batch_card(const json& holder, const char* field, const char* label) {
  const auto batch = number_in(holder, field);
  return batch ? card(value_text(*batch, Unit::kNumber), label) : "";
}

// What it found, and why, of one series.
std::string findings(const json& series) {
  const json& recommended = object_in(series, "recommended");
  const json& edge = object_in(series, "edge");
  const json& knee = object_in(series, "knee");
  const bool estimated = flag_in(edge, "extrapolated");
  std::string cards =
      batch_card(recommended, "batch", "recommended batch") + batch_card(knee, "batch", "knee") +
      batch_card(edge, "largest_good", estimated ? "largest that fits, estimated" : "largest that ran") +
      batch_card(edge, "smallest_bad", estimated ? "smallest that fails, estimated" : "smallest that failed");
  std::string reasons;
  const auto reason = [&reasons](const char* word, const json& holder) {
    if (const std::string why = text_in(holder, "why"); !why.empty()) {
      reasons += fmt::format("<li><b>{}:</b> {}</li>\n", word, escaped(why));
    }
  };
  reason("Recommended", recommended);
  if (const auto margin = number_in(recommended, "margin")) {
    reasons += fmt::format("<li><b>Margin:</b> {}", escaped(value_text(*margin, Unit::kShare)));
    if (const auto steps = number_in(recommended, "verified_steps")) {
      reasons += fmt::format(", run again for {} steps", escaped(value_text(*steps, Unit::kNumber)));
    }
    reasons += "</li>\n";
  }
  reason("Knee", knee);
  reason("Edge", edge);
  if (!cards.empty()) cards = "<div class=\"cards\">\n" + cards + "</div>\n";
  return cards + (reasons.empty() ? "" : "<ul>\n" + reasons + "</ul>\n");
}

}  // namespace

std::string sweep_section(const ReportRuns& runs) {
  Extents common;
  for (const ReportRun& run : runs) {
    for (const json& series : list_in(run.document, "series")) {
      for (const json& point : list_in(series, "points")) {
        common.batch.take(number_in(point, "batch"));
        common.speed.take(number_in(point, "samples_per_second"));
        common.speed.take(number_in(point, "samples_high"));
        common.memory.take(number_in(point, "peak_bytes"));
      }
    }
  }
  std::string html;
  if (runs.size() > 1) html += sweep_charts(runs, common, false);
  return html + beside(runs, [&](const ReportRun& run) {
           const json& all = list_in(run.document, "series");
           std::string part;
           for (const json& series : all) {
             const std::string name = all.size() > 1 ? series_axes_text(series) : std::string();
             part += name.empty() ? findings(series) : titled(name, findings(series));
           }
           part += sweep_charts({run}, common, all.size() == 1);
           for (const json& series : all) {
             const std::string name = series_axes_text(series);
             part += titled(name.empty() ? "Points" : "Points, " + name, points_table(series));
           }
           return part + titled("Notes", bullets(list_in(run.document, "notes")));
         });
}

}  // namespace anymps::lab
