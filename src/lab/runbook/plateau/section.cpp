#include <fmt/format.h>

#include <algorithm>

#include "lab/html_page.h"
#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

constexpr double kUsualThreshold = 0.26;

const char* measured_field(const json& document) {
  return text_in(document, "measure") == "resident" ? "resident_bytes" : "tensor_bytes";
}

ChartSeries memory_series(const json& document, const char* field, std::string name, std::size_t style) {
  ChartSeries series{std::move(name), style, {}};
  for (const json& epoch : list_in(document, "epochs")) {
    const auto index = number_in(epoch, "index");
    const auto bytes = number_in(epoch, field);
    if (!index || !bytes) continue;
    std::string text = fmt::format("epoch {}, {}", value_text(*index, Unit::kNumber), value_text(*bytes, Unit::kBytes));
    if (const auto seconds = number_in(epoch, "seconds")) text += ", " + value_text(*seconds, Unit::kSeconds);
    series.points.push_back({*index, *bytes, {}, {}, std::move(text)});
  }
  return series;
}

// The fitted line through the middle of the curve, with the slopes that the confidence allows.
ChartSeries trend(const json& document, const ChartSeries& measured) {
  ChartSeries series{"slope with its confidence", 1, {}, false};
  const json& slope = object_in(document, "slope");
  const auto rise = number_in(slope, "bytes_per_epoch");
  if (!rise || measured.points.size() < 2) return series;
  double x = 0;
  double y = 0;
  for (const ChartPoint& point : measured.points) {
    x += point.x / static_cast<double>(measured.points.size());
    y += point.y / static_cast<double>(measured.points.size());
  }
  const auto low = number_in(slope, "low");
  const auto high = number_in(slope, "high");
  const double first = measured.points.front().x;
  const double last = measured.points.back().x;
  for (const double at : {first, x, last}) {
    ChartPoint point{at, y + *rise * (at - x)};
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

LineChart memory_chart() {
  LineChart chart;
  chart.title = "Memory over epochs";
  chart.note = "at the end of each, after the flush";
  chart.x.title = "epoch";
  chart.x.is_whole = true;
  chart.y = {"", Unit::kBytes, AxisKind::kLinear, true, {}, {}};
  return chart;
}

void add_threshold(LineChart& chart, const json& document, const ChartSeries& measured) {
  const double threshold = number_in(document, "threshold").value_or(kUsualThreshold);
  if (measured.points.empty() || measured.points.front().y <= 0) return;
  chart.thresholds.push_back({measured.points.front().y * (1 + threshold), fmt::format("+{:.4g}%", 100 * threshold)});
}

std::string own_chart(const ReportRun& run) {
  LineChart chart = memory_chart();
  const char* field = measured_field(run.document);
  const bool tensors = std::string_view(field) == "tensor_bytes";
  chart.series.push_back(memory_series(run.document, field, tensors ? "tensors" : "resident", 0));
  add_threshold(chart, run.document, chart.series.front());
  if (ChartSeries line = trend(run.document, chart.series.front()); !line.points.empty()) {
    chart.series.push_back(std::move(line));
  }
  return draw(chart);
}

// The other measures, which are of another size and would flatten the one that is judged.
std::string other_chart(const json& document) {
  LineChart chart = memory_chart();
  chart.title = "All measures of memory";
  chart.note = "";
  std::size_t style = 0;
  for (const auto& [field, name] :
       {std::pair{"tensor_bytes", "tensors"}, std::pair{"flushed_bytes", "tensors, flushed"},
        std::pair{"driver_bytes", "driver"}, std::pair{"resident_bytes", "resident"}}) {
    ChartSeries series = memory_series(document, field, name, style++);
    if (!series.points.empty()) chart.series.push_back(std::move(series));
  }
  return chart.series.size() > 1 ? draw(chart) : "";
}

std::string plateau_cards(const json& document) {
  std::string cards;
  if (const auto rise = number_in(document, "rise_share")) {
    cards += card(fmt::format("{:+.1f}%", 100 * *rise),
                  fmt::format("rise over {} epochs; the limit is {:.4g}%", list_in(document, "epochs").size(),
                              100 * number_in(document, "threshold").value_or(kUsualThreshold)));
  }
  const json& slope = object_in(document, "slope");
  if (const auto bytes = number_in(slope, "bytes_per_epoch")) {
    std::string label = "per epoch";
    const auto low = number_in(slope, "low");
    const auto high = number_in(slope, "high");
    if (low && high) {
      label += fmt::format(", between {} and {}", value_text(*low, Unit::kBytes), value_text(*high, Unit::kBytes));
    }
    cards += card(value_text(*bytes, Unit::kBytes), label);
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string sites_table(const json& document) {
  Table table("Places whose tensors grow in number", {"place", "#bytes per epoch", "#tensors per epoch", "example"});
  for (const json& site : list_in(document, "sites")) {
    table.add({code_cell(text_in(site, "site")), number_cell(number_in(site, "bytes_per_epoch"), Unit::kBytes),
               number_cell(number_in(site, "count_per_epoch")), code_cell(text_in(site, "example"))});
  }
  table.sort_by(1);
  return table.html();
}

std::string epochs_table(const json& document) {
  Table table("Epochs", {"#epoch", "#tensors", "#flushed", "#driver", "#resident", "#seconds", "#steps"});
  for (const json& epoch : list_in(document, "epochs")) {
    table.add({number_cell(number_in(epoch, "index")), number_cell(number_in(epoch, "tensor_bytes"), Unit::kBytes),
               number_cell(number_in(epoch, "flushed_bytes"), Unit::kBytes),
               number_cell(number_in(epoch, "driver_bytes"), Unit::kBytes),
               number_cell(number_in(epoch, "resident_bytes"), Unit::kBytes),
               number_cell(number_in(epoch, "seconds"), Unit::kSeconds), number_cell(number_in(epoch, "steps"))});
  }
  return table.html();
}

std::string verdict_sentence(const json& document) {
  const std::string verdict = text_in(document, "verdict");
  if (verdict == "good") return "Memory stays level, within the threshold.";
  if (verdict == "bad") return "Memory rises with every epoch: something is retained.";
  return "Whether memory stays level could not be found out.";
}

}  // namespace

std::string plateau_section(const ReportRuns& runs) {
  std::string html;
  if (runs.size() > 1) {
    LineChart together = memory_chart();
    for (const ReportRun& run : runs) {
      together.series.push_back(memory_series(run.document, measured_field(run.document), run.label, run.style));
    }
    html += draw(together);
  }
  return html + beside(runs, [](const ReportRun& run) {
           return fmt::format("<p class=\"lead\">{}</p>\n", escaped(verdict_sentence(run.document))) +
                  plateau_cards(run.document) + chart_row(own_chart(run) + other_chart(run.document)) +
                  titled("What grows", sites_table(run.document)) + folded("All epochs", epochs_table(run.document)) +
                  titled("Notes", bullets(list_in(run.document, "notes")));
         });
}

}  // namespace anymps::lab
