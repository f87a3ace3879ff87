#include "lab/runbook/plateau/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/html/escape.h"
#include "lab/html/page.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::plateau {
namespace {

using nlohmann::json;

constexpr double kUsualThreshold = 0.26;

const char* measured_field(const json& document) {
  return document::words_in(document, "measure") == "resident" ? "resident_bytes" : "tensor_bytes";
}

html::ChartSeries memory_series(const json& document, const char* field, std::string name, std::size_t style) {
  html::ChartSeries series{std::move(name), style, {}};
  for (const json& epoch : document::list_in(document, "epochs")) {
    const auto index = document::number_in(epoch, "index");
    const auto bytes = document::number_in(epoch, field);
    if (!index || !bytes) continue;
    std::string text = fmt::format("epoch {}, {}", html::value_text(*index, html::Unit::kNumber),
                                   html::value_text(*bytes, html::Unit::kBytes));
    if (const auto seconds = document::number_in(epoch, "seconds"))
      text += ", " + html::value_text(*seconds, html::Unit::kSeconds);
    series.points.push_back({*index, *bytes, {}, {}, std::move(text)});
  }
  return series;
}

// The fitted line through the middle of the curve, with the slopes that the confidence allows.
html::ChartSeries trend(const json& document, const html::ChartSeries& measured) {
  html::ChartSeries series{"slope with its confidence", 1, {}, false};
  const json& slope = document::object_in(document, "slope");
  const auto rise = document::number_in(slope, "bytes_per_epoch");
  if (!rise || measured.points.size() < 2) return series;
  double x = 0;
  double y = 0;
  for (const html::ChartPoint& point : measured.points) {
    x += point.x / static_cast<double>(measured.points.size());
    y += point.y / static_cast<double>(measured.points.size());
  }
  const auto low = document::number_in(slope, "low");
  const auto high = document::number_in(slope, "high");
  const double first = measured.points.front().x;
  const double last = measured.points.back().x;
  for (const double at : {first, x, last}) {
    html::ChartPoint point{at, y + *rise * (at - x)};
    if (low && high) {
      // In braces it gives values; of two that pass it would give references.
      const auto [below, above] = std::minmax({y + *low * (at - x), y + *high * (at - x)});
      point.low = std::max(0.0, below);
      point.high = std::max(0.0, above);
    }
    series.points.push_back(std::move(point));
  }
  return series;
}

html::LineChart memory_chart() {
  html::LineChart chart;
  chart.title = "Memory over epochs";
  chart.note = "at the end of each, after the flush";
  chart.x.title = "epoch";
  chart.x.is_whole = true;
  chart.y = {"", html::Unit::kBytes, html::AxisKind::kLinear, true, {}, {}};
  return chart;
}

void add_threshold(html::LineChart& chart, const json& document, const html::ChartSeries& measured) {
  const double threshold = document::number_in(document, "threshold").value_or(kUsualThreshold);
  if (measured.points.empty() || measured.points.front().y <= 0) return;
  chart.thresholds.push_back({measured.points.front().y * (1 + threshold), fmt::format("+{:.4g}%", 100 * threshold)});
}

std::string own_chart(const section::ReportRun& run) {
  html::LineChart chart = memory_chart();
  const char* field = measured_field(run.document);
  const bool tensors = std::string_view(field) == "tensor_bytes";
  chart.series.push_back(memory_series(run.document, field, tensors ? "tensors" : "resident", 0));
  add_threshold(chart, run.document, chart.series.front());
  if (html::ChartSeries line = trend(run.document, chart.series.front()); !line.points.empty()) {
    chart.series.push_back(std::move(line));
  }
  return html::draw(chart);
}

// The other measures, which are of another size and would flatten the one that is judged.
std::string other_chart(const json& document) {
  html::LineChart chart = memory_chart();
  chart.title = "All measures of memory";
  chart.note = "";
  std::size_t style = 0;
  for (const auto& [field, name] :
       {std::pair{"tensor_bytes", "tensors"}, std::pair{"flushed_bytes", "tensors, flushed"},
        std::pair{"driver_bytes", "driver"}, std::pair{"resident_bytes", "resident"}}) {
    html::ChartSeries series = memory_series(document, field, name, style++);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart.series.size() > 1 ? html::draw(chart) : "";
}

std::string plateau_cards(const json& document) {
  std::string cards;
  if (const auto rise = document::number_in(document, "rise_share")) {
    cards += html::card(
        fmt::format("{:+.1f}%", 100 * *rise),
        fmt::format("rise over {} epochs; the limit is {:.4g}%", document::list_in(document, "epochs").size(),
                    100 * document::number_in(document, "threshold").value_or(kUsualThreshold)));
  }
  const json& slope = document::object_in(document, "slope");
  if (const auto bytes = document::number_in(slope, "bytes_per_epoch")) {
    std::string label = "per epoch";
    const auto low = document::number_in(slope, "low");
    const auto high = document::number_in(slope, "high");
    if (low && high) {
      label += fmt::format(", between {} and {}", html::value_text(*low, html::Unit::kBytes),
                           html::value_text(*high, html::Unit::kBytes));
    }
    cards += html::card(html::value_text(*bytes, html::Unit::kBytes), label);
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string sites_table(const json& document) {
  section::Table table("Places whose tensors grow in number",
                       {"place", "#bytes per epoch", "#tensors per epoch", "example"});
  for (const json& site : document::list_in(document, "sites")) {
    table.add({section::code_cell(document::words_in(site, "site")),
               section::number_cell(document::number_in(site, "bytes_per_epoch"), html::Unit::kBytes),
               section::number_cell(document::number_in(site, "count_per_epoch")),
               section::code_cell(document::words_in(site, "example"))});
  }
  table.sort_by(1);
  return table.html();
}

std::string epochs_table(const json& document) {
  section::Table table("Epochs", {"#epoch", "#tensors", "#flushed", "#driver", "#resident", "#seconds", "#steps"});
  for (const json& epoch : document::list_in(document, "epochs")) {
    table.add({section::number_cell(document::number_in(epoch, "index")),
               section::number_cell(document::number_in(epoch, "tensor_bytes"), html::Unit::kBytes),
               section::number_cell(document::number_in(epoch, "flushed_bytes"), html::Unit::kBytes),
               section::number_cell(document::number_in(epoch, "driver_bytes"), html::Unit::kBytes),
               section::number_cell(document::number_in(epoch, "resident_bytes"), html::Unit::kBytes),
               section::number_cell(document::number_in(epoch, "seconds"), html::Unit::kSeconds),
               section::number_cell(document::number_in(epoch, "steps"))});
  }
  return table.html();
}

std::string verdict_sentence(const json& document) {
  const std::string verdict = document::words_in(document, "verdict");
  if (verdict == "good") return "Memory stays level, within the threshold.";
  if (verdict == "bad") return "Memory rises with every epoch: something is retained.";
  return "Whether memory stays level could not be found out.";
}

}  // namespace

std::string plateau_section(const section::ReportRuns& runs) {
  std::string html;
  if (runs.size() > 1) {
    html::LineChart together = memory_chart();
    for (const section::ReportRun& run : runs) {
      together.series.push_back(memory_series(run.document, measured_field(run.document), run.label, run.style));
    }
    html += html::draw(together);
  }
  return html + section::beside(runs, [](const section::ReportRun& run) {
           return fmt::format("<p class=\"lead\">{}</p>\n", html::escaped(verdict_sentence(run.document))) +
                  plateau_cards(run.document) + section::chart_row(own_chart(run) + other_chart(run.document)) +
                  section::titled("What grows", sites_table(run.document)) +
                  section::folded("All epochs", epochs_table(run.document)) +
                  section::titled("Notes", section::bullets(document::list_in(run.document, "notes")));
         });
}

}  // namespace anymps::lab::runbook::plateau
