#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/html_page.h"
#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

struct Curves {
  std::vector<ChartSeries> losses;
  std::vector<ChartSeries> drifts;
};

std::string exact(double value) { return fmt::format("{:.9g}", value); }

// Reference first; devices that were compared with the same reference share its curve.
Curves curves_of(const json& document, const std::string& prefix, std::size_t style) {
  Curves curves;
  const std::string reference = text_in(document, "reference");
  ChartSeries expected{prefix + (reference.empty() ? "reference" : reference), style++, {}};
  for (const json& comparison : list_in(document, "comparisons")) {
    const std::string device = text_in(comparison, "device");
    ChartSeries loss{prefix + device, style, {}};
    ChartSeries drift{prefix + device, style++, {}};
    const bool first = expected.points.empty();
    for (const json& step : list_in(comparison, "steps")) {
      const auto at = number_in(step, "step");
      if (!at) continue;
      const std::string when = "step " + value_text(*at, Unit::kNumber);
      if (const auto value = number_in(step, "loss")) {
        loss.points.push_back({*at, *value, {}, {}, fmt::format("{}, loss {}", when, exact(*value))});
      }
      if (const auto value = number_in(step, "reference_loss"); value && first) {
        expected.points.push_back({*at, *value, {}, {}, fmt::format("{}, loss {}", when, exact(*value))});
      }
      if (const auto value = number_in(step, "relative")) {
        std::string text = fmt::format("{}, {:.3g} relative", when, *value);
        if (const auto ulps = number_in(step, "ulps")) text += fmt::format(", {:.4g} ulps", *ulps);
        drift.points.push_back({*at, std::abs(*value), {}, {}, std::move(text)});
      }
    }
    if (!loss.points.empty()) curves.losses.push_back(std::move(loss));
    if (!drift.points.empty()) curves.drifts.push_back(std::move(drift));
  }
  if (!expected.points.empty()) curves.losses.insert(curves.losses.begin(), std::move(expected));
  return curves;
}

// Drift grows by powers where it grows at all; a linear axis would show its last steps only.
AxisKind drift_axis(const std::vector<ChartSeries>& series) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const ChartSeries& one : series) {
    for (const ChartPoint& point : one.points) {
      if (point.y > 0) least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return most > 50 * least ? AxisKind::kLog10 : AxisKind::kLinear;
}

std::string parity_charts(Curves curves) {
  LineChart loss;
  loss.title = "Loss";
  loss.note = "of the same seed";
  loss.x.title = "step";
  loss.x.is_whole = true;
  loss.series = std::move(curves.losses);
  LineChart drift;
  drift.title = "Drift";
  drift.note = "relative difference of the loss from the reference";
  drift.x.title = "step";
  drift.x.is_whole = true;
  drift.y.kind = drift_axis(curves.drifts);
  drift.y.from_zero = true;
  drift.series = std::move(curves.drifts);
  return chart_row(draw(loss) + draw(drift));
}

std::string parity_differences_table(const char* label, const json& rows) {
  Table table(label, {"name", "kind", "dtype", "#max ulps", "#max relative", "#max absolute", "#elements", "random"});
  for (const json& row : rows) {
    const bool random = flag_in(row, "random");
    table.add({code_cell(text_in(row, "name")), text_cell(text_in(row, "kind")), code_cell(text_in(row, "dtype")),
               number_cell(number_in(row, "max_ulps")), number_cell(number_in(row, "max_relative")),
               number_cell(number_in(row, "max_absolute")), number_cell(number_in(row, "elements")),
               random ? badge_cell(Tone::kClose, "random") : text_cell("")});
  }
  table.sort_by(3);
  return table.html();
}

std::string metric_part(const json& document) {
  const json& metric = object_in(document, "metric");
  if (metric.empty()) return {};
  const bool within = flag_in(metric, "within");
  std::string cards;
  for (const auto& [device, value] : object_in(metric, "values").items()) cards += card(text_of(value), device);
  return fmt::format("<h3>Metric: {}</h3>\n<p>{}, tolerance {}</p>\n<div class=\"cards\">\n{}</div>\n",
                     escaped(text_in(metric, "name")),
                     badge(within ? Tone::kGood : Tone::kBad, within ? "within tolerance" : "outside tolerance"),
                     escaped(text_in(metric, "tolerance")), cards);
}

std::string policy_table(const json& document) {
  Table table("Data types by kind of layer", {"kind", "weight", "output", "statistics", "gradient"});
  for (const json& row : list_in(document, "dtype_policy")) {
    table.add({text_cell(text_in(row, "kind")), code_cell(text_in(row, "weight")), code_cell(text_in(row, "output")),
               code_cell(text_in(row, "statistics")), code_cell(text_in(row, "gradient"))});
  }
  return table.html();
}

std::string genuine_table(const json& document) {
  Table table("Genuine Apple kernels", {"operator", "kernel", "#max ulps", "#max relative"});
  for (const json& row : list_in(document, "genuine")) {
    table.add({code_cell(text_in(row, "operator")), code_cell(text_in(row, "kernel")),
               number_cell(number_in(row, "max_ulps")), number_cell(number_in(row, "max_relative"))});
  }
  table.sort_by(2);
  return table.html();
}

std::string reviewed_part(const json& document) {
  const json& table = object_in(document, "table");
  if (table.empty()) return {};
  const json& changed = list_in(table, "changed");
  return fmt::format("<p><code>{}</code> {}</p>\n", escaped(text_in(table, "path")),
                     changed.empty() ? badge(Tone::kGood, "as reviewed")
                                     : badge(Tone::kBad, fmt::format("{} changed", changed.size()))) +
         bullets(changed);
}

std::string own_part(const json& document) {
  std::string html = parity_charts(curves_of(document, "", 0)) + metric_part(document);
  for (const json& comparison : list_in(document, "comparisons")) {
    const std::string device = text_in(comparison, "device");
    html += titled("Layers, " + device, parity_differences_table("Layers", list_in(comparison, "layers")));
    html += titled("Gradients, " + device, parity_differences_table("Gradients", list_in(comparison, "gradients")));
  }
  return html + titled("Data types", policy_table(document)) +
         titled("Genuine Apple kernels", genuine_table(document)) +
         titled("Reviewed differences", reviewed_part(document)) + titled("Notes", bullets(list_in(document, "notes")));
}

}  // namespace

std::string parity_section(const ReportRuns& runs) {
  std::string html;
  if (runs.size() > 1) {
    Curves together;
    std::size_t style = 0;
    for (const ReportRun& run : runs) {
      Curves curves = curves_of(run.document, run.label + ", ", style);
      style += curves.losses.size();
      std::ranges::move(curves.losses, std::back_inserter(together.losses));
      std::ranges::move(curves.drifts, std::back_inserter(together.drifts));
    }
    html += parity_charts(std::move(together));
  }
  return html + beside(runs, [](const ReportRun& run) { return own_part(run.document); });
}

}  // namespace anymps::lab
