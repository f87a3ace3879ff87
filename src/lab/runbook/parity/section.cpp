#include "lab/runbook/parity/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::parity {
namespace {

using nlohmann::json;

struct Curves {
  std::vector<html::ChartSeries> losses;
  std::vector<html::ChartSeries> drifts;
};

std::string exact(double value) { return fmt::format("{:.9g}", value); }

// Reference first; devices that were compared with the same reference share its curve.
Curves curves_of(const json& document, const std::string& prefix, std::size_t style) {
  Curves curves;
  const std::string reference = document::words_in(document, "reference");
  html::ChartSeries expected{prefix + (reference.empty() ? "reference" : reference), style++, {}};
  for (const json& comparison : document::list_in(document, "comparisons")) {
    const std::string device = document::words_in(comparison, "device");
    html::ChartSeries loss{prefix + device, style, {}};
    html::ChartSeries drift{prefix + device, style++, {}};
    const bool first = expected.points.empty();
    for (const json& step : document::list_in(comparison, "steps")) {
      const auto at = document::number_in(step, "step");
      if (!at) continue;
      const std::string when = "step " + html::value_text(*at, html::Unit::kNumber);
      if (const auto value = document::number_in(step, "loss")) {
        loss.points.push_back({*at, *value, {}, {}, fmt::format("{}, loss {}", when, exact(*value))});
      }
      if (const auto value = document::number_in(step, "reference_loss"); value && first) {
        expected.points.push_back({*at, *value, {}, {}, fmt::format("{}, loss {}", when, exact(*value))});
      }
      if (const auto value = document::number_in(step, "relative")) {
        std::string text = fmt::format("{}, {:.3g} relative", when, *value);
        if (const auto ulps = document::number_in(step, "ulps")) text += fmt::format(", {:.4g} ulps", *ulps);
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
html::AxisKind drift_axis(const std::vector<html::ChartSeries>& series) {
  double least = std::numeric_limits<double>::infinity();
  double most = 0;
  for (const html::ChartSeries& one : series) {
    for (const html::ChartPoint& point : one.points) {
      if (point.y > 0) least = std::min(least, point.y);
      most = std::max(most, point.y);
    }
  }
  return most > 50 * least ? html::AxisKind::kLog10 : html::AxisKind::kLinear;
}

std::string parity_charts(Curves curves) {
  html::LineChart loss;
  loss.title = "Loss";
  loss.note = "of the same seed";
  loss.x.title = "step";
  loss.x.is_whole = true;
  loss.series = std::move(curves.losses);
  html::LineChart drift;
  drift.title = "Drift";
  drift.note = "relative difference of the loss from the reference";
  drift.x.title = "step";
  drift.x.is_whole = true;
  drift.y.kind = drift_axis(curves.drifts);
  drift.y.from_zero = true;
  drift.series = std::move(curves.drifts);
  return section::chart_row(html::draw(loss) + html::draw(drift));
}

std::string parity_differences_table(const char* label, const json& rows) {
  section::Table table(label,
                       {"name", "kind", "dtype", "#max ulps", "#max relative", "#max absolute", "#elements", "random"});
  for (const json& row : rows) {
    const bool random = document::flag_in(row, "random");
    table.add({section::code_cell(document::words_in(row, "name")), section::text_cell(document::words_in(row, "kind")),
               section::code_cell(document::words_in(row, "dtype")),
               section::number_cell(document::number_in(row, "max_ulps")),
               section::number_cell(document::number_in(row, "max_relative")),
               section::number_cell(document::number_in(row, "max_absolute")),
               section::number_cell(document::number_in(row, "elements")),
               random ? section::badge_cell(section::Tone::kClose, "random") : section::text_cell("")});
  }
  table.sort_by(3);
  return table.html();
}

std::string metric_part(const json& document) {
  const json& metric = document::object_in(document, "metric");
  if (metric.empty()) return {};
  const bool within = document::flag_in(metric, "within");
  std::string cards;
  for (const auto& [device, value] : document::object_in(metric, "values").items())
    cards += html::card(document::in_words(value), device);
  return fmt::format("<h3>Metric: {}</h3>\n<p>{}, tolerance {}</p>\n<div class=\"cards\">\n{}</div>\n",
                     html::escaped(document::words_in(metric, "name")),
                     section::badge(within ? section::Tone::kGood : section::Tone::kBad,
                                    within ? "within tolerance" : "outside tolerance"),
                     html::escaped(document::words_in(metric, "tolerance")), cards);
}

std::string policy_table(const json& document) {
  section::Table table("Data types by kind of layer", {"kind", "weight", "output", "statistics", "gradient"});
  for (const json& row : document::list_in(document, "dtype_policy")) {
    table.add({section::text_cell(document::words_in(row, "kind")),
               section::code_cell(document::words_in(row, "weight")),
               section::code_cell(document::words_in(row, "output")),
               section::code_cell(document::words_in(row, "statistics")),
               section::code_cell(document::words_in(row, "gradient"))});
  }
  return table.html();
}

std::string genuine_table(const json& document) {
  section::Table table("Genuine Apple kernels", {"operator", "kernel", "#max ulps", "#max relative"});
  for (const json& row : document::list_in(document, "genuine")) {
    table.add({section::code_cell(document::words_in(row, "operator")),
               section::code_cell(document::words_in(row, "kernel")),
               section::number_cell(document::number_in(row, "max_ulps")),
               section::number_cell(document::number_in(row, "max_relative"))});
  }
  table.sort_by(2);
  return table.html();
}

std::string reviewed_part(const json& document) {
  const json& table = document::object_in(document, "table");
  if (table.empty()) return {};
  const json& changed = document::list_in(table, "changed");
  return fmt::format("<p><code>{}</code> {}</p>\n", html::escaped(document::words_in(table, "path")),
                     changed.empty() ? section::badge(section::Tone::kGood, "as reviewed")
                                     : section::badge(section::Tone::kBad, fmt::format("{} changed", changed.size()))) +
         section::bullets(changed);
}

std::string own_part(const json& document) {
  std::string html = parity_charts(curves_of(document, "", 0)) + metric_part(document);
  for (const json& comparison : document::list_in(document, "comparisons")) {
    const std::string device = document::words_in(comparison, "device");
    html += section::titled("Layers, " + device,
                            parity_differences_table("Layers", document::list_in(comparison, "layers")));
    html += section::titled("Gradients, " + device,
                            parity_differences_table("Gradients", document::list_in(comparison, "gradients")));
  }
  return html + section::titled("Data types", policy_table(document)) +
         section::titled("Genuine Apple kernels", genuine_table(document)) +
         section::titled("Reviewed differences", reviewed_part(document)) +
         section::titled("Notes", section::bullets(document::list_in(document, "notes")));
}

}  // namespace

std::string parity_section(const section::ReportRuns& runs) {
  std::string html;
  if (runs.size() > 1) {
    Curves together;
    std::size_t style = 0;
    for (const section::ReportRun& run : runs) {
      Curves curves = curves_of(run.document, run.label + ", ", style);
      style += curves.losses.size();
      std::ranges::move(curves.losses, std::back_inserter(together.losses));
      std::ranges::move(curves.drifts, std::back_inserter(together.drifts));
    }
    html += parity_charts(std::move(together));
  }
  return html + section::beside(runs, [](const section::ReportRun& run) { return own_part(run.document); });
}

}  // namespace anymps::lab::runbook::parity
