#include "lab/runbook/parity/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "lab/html/escape.h"
#include "lab/html/page.h"

namespace anymps::lab::runbook::parity {
namespace {

using Run = section::DocumentRun<ParityDocument>;

struct Curves {
  std::vector<html::ChartSeries> losses;
  std::vector<html::ChartSeries> drifts;
};

std::string exact(double value) { return fmt::format("{:.9g}", value); }

html::ChartPoint loss_point(double at, const std::string& when, double loss) {
  return {at, loss, {}, {}, fmt::format("{}, loss {}", when, exact(loss))};
}

// Reference first; devices that were compared with the same reference share its curve.
Curves curves_of(const ParityDocument& document, const std::string& prefix, std::size_t style) {
  Curves curves;
  html::ChartSeries expected{prefix + (document.reference.empty() ? "reference" : document.reference), style++, {}};
  for (const Comparison& comparison : document.comparisons) {
    html::ChartSeries loss{prefix + comparison.device, style, {}};
    html::ChartSeries drift{prefix + comparison.device, style++, {}};
    const bool first = expected.points.empty();
    for (const StepDifference& step : comparison.steps) {
      const auto at = static_cast<double>(step.step);
      const std::string when = "step " + html::value_text(at, html::Unit::kNumber);
      if (step.loss) loss.points.push_back(loss_point(at, when, *step.loss));
      if (step.reference_loss && first) expected.points.push_back(loss_point(at, when, *step.reference_loss));
      if (step.relative) {
        std::string text = fmt::format("{}, {:.3g} relative", when, *step.relative);
        if (step.ulps) text += fmt::format(", {:.4g} ulps", static_cast<double>(*step.ulps));
        drift.points.push_back({at, std::abs(*step.relative), {}, {}, std::move(text)});
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

section::Cell count_cell(std::optional<std::uint64_t> count) {
  return section::number_cell(count ? std::optional(static_cast<double>(*count)) : std::nullopt);
}

std::string parity_differences_table(const char* label, const std::vector<TensorDifference>& rows) {
  section::Table table(label,
                       {"name", "kind", "dtype", "#max ulps", "#max relative", "#max absolute", "#elements", "random"});
  for (const TensorDifference& row : rows) {
    table.add({section::code_cell(row.name), section::text_cell(row.kind), section::code_cell(row.dtype),
               count_cell(row.max_ulps), section::number_cell(row.max_relative), section::number_cell(row.max_absolute),
               count_cell(row.elements),
               row.random ? section::badge_cell(section::Tone::kClose, "random") : section::text_cell("")});
  }
  table.sort_by(3);
  return table.html();
}

std::string metric_text(std::optional<double> value) { return value ? fmt::format("{:.6g}", *value) : ""; }

std::string metric_part(const std::optional<Metric>& metric) {
  if (!metric) return {};
  std::string cards;
  for (const auto& [device, value] : metric->values) cards += html::card(metric_text(value), device);
  return fmt::format("<h3>Metric: {}</h3>\n<p>{}, tolerance {}</p>\n<div class=\"cards\">\n{}</div>\n",
                     html::escaped(metric->name),
                     section::badge(metric->within ? section::Tone::kGood : section::Tone::kBad,
                                    metric->within ? "within tolerance" : "outside tolerance"),
                     metric_text(metric->tolerance), cards);
}

std::string policy_table(const std::vector<LayerDtypes>& rows) {
  section::Table table("Data types by kind of layer", {"kind", "weight", "output", "statistics", "gradient"});
  for (const LayerDtypes& row : rows) {
    table.add({section::text_cell(row.kind), section::code_cell(row.weight), section::code_cell(row.output),
               section::code_cell(row.statistics), section::code_cell(row.gradient)});
  }
  return table.html();
}

std::string genuine_table(const std::vector<GenuineKernel>& rows) {
  section::Table table("Genuine Apple kernels", {"operator", "kernel", "#max ulps", "#max relative"});
  for (const GenuineKernel& row : rows) {
    table.add({section::code_cell(row.op), section::code_cell(row.kernel), count_cell(row.max_ulps),
               section::number_cell(row.max_relative)});
  }
  table.sort_by(2);
  return table.html();
}

std::string reviewed_part(const std::optional<ReviewedTable>& table) {
  if (!table) return {};
  const std::size_t changed = table->changed.size();
  return fmt::format("<p><code>{}</code> {}</p>\n", html::escaped(table->path),
                     changed == 0 ? section::badge(section::Tone::kGood, "as reviewed")
                                  : section::badge(section::Tone::kBad, fmt::format("{} changed", changed))) +
         section::bullets(table->changed);
}

std::string own_part(const ParityDocument& document) {
  std::string html = parity_charts(curves_of(document, "", 0)) + metric_part(document.metric);
  for (const Comparison& comparison : document.comparisons) {
    html +=
        section::titled("Layers, " + comparison.device, parity_differences_table("Layers", comparison.layers)) +
        section::titled("Gradients, " + comparison.device, parity_differences_table("Gradients", comparison.gradients));
  }
  return html + section::titled("Data types", policy_table(document.dtype_policy)) +
         section::titled("Genuine Apple kernels", genuine_table(document.genuine)) +
         section::titled("Reviewed differences", reviewed_part(document.table)) +
         section::titled("Notes", section::bullets(document.notes));
}

}  // namespace

std::string parity_section(const section::DocumentRuns<ParityDocument>& runs) {
  std::string html;
  if (runs.size() > 1) {
    Curves together;
    std::size_t style = 0;
    for (const Run& run : runs) {
      Curves curves = curves_of(run.document, run.label + ", ", style);
      style += curves.losses.size();
      std::ranges::move(curves.losses, std::back_inserter(together.losses));
      std::ranges::move(curves.drifts, std::back_inserter(together.drifts));
    }
    html += parity_charts(std::move(together));
  }
  return html + section::beside(runs, [](const Run& run) { return own_part(run.document); });
}

}  // namespace anymps::lab::runbook::parity
