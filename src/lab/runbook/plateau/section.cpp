#include "lab/runbook/plateau/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "lab/html/escape.h"
#include "lab/html/page.h"

namespace anymps::lab::runbook::plateau {
namespace {

using Run = section::DocumentRun<PlateauDocument>;
using Runs = section::DocumentRuns<PlateauDocument>;
// One measure of memory.
using Bytes = std::uint64_t Epoch::*;

Bytes measured_bytes(const MemoryCurve& curve) {
  return curve.measure == Measure::kResident ? &Epoch::resident_bytes : &Epoch::tensor_bytes;
}

html::ChartSeries memory_series(const MemoryCurve& curve, Bytes measure, std::string name, std::size_t style) {
  html::ChartSeries series{std::move(name), style, {}};
  for (const Epoch& epoch : curve.epochs) {
    const auto index = static_cast<double>(epoch.index);
    const auto bytes = static_cast<double>(epoch.*measure);
    std::string text =
        fmt::format("epoch {}, {}, {}", html::value_text(index, html::Unit::kNumber),
                    html::value_text(bytes, html::Unit::kBytes), html::value_text(epoch.seconds, html::Unit::kSeconds));
    series.points.push_back({index, bytes, {}, {}, std::move(text)});
  }
  return series;
}

// The fitted line through the middle of the curve, with the slopes that the confidence allows.
html::ChartSeries trend(const MemoryCurve& curve, const html::ChartSeries& measured) {
  html::ChartSeries series{"slope with its confidence", 1, {}, false};
  if (!curve.slope || measured.points.size() < 2) return series;
  const auto& [rise, low, high] = *curve.slope;
  double x = 0;
  double y = 0;
  for (const html::ChartPoint& point : measured.points) {
    x += point.x / static_cast<double>(measured.points.size());
    y += point.y / static_cast<double>(measured.points.size());
  }
  const double first = measured.points.front().x;
  const double last = measured.points.back().x;
  for (const double at : {first, x, last}) {
    html::ChartPoint point{at, y + rise * (at - x)};
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

void add_threshold(html::LineChart& chart, double threshold, const html::ChartSeries& measured) {
  if (measured.points.empty() || measured.points.front().y <= 0) return;
  chart.thresholds.push_back({measured.points.front().y * (1 + threshold), fmt::format("+{:.4g}%", 100 * threshold)});
}

std::string own_chart(const MemoryCurve& curve) {
  html::LineChart chart = memory_chart();
  chart.series.push_back(memory_series(curve, measured_bytes(curve), std::string(document::word_of(curve.measure)), 0));
  add_threshold(chart, curve.threshold.value_or(kUsualThreshold), chart.series.front());
  if (html::ChartSeries line = trend(curve, chart.series.front()); !line.points.empty()) {
    chart.series.push_back(std::move(line));
  }
  return html::draw(chart);
}

// The other measures, which are of another size and would flatten the one that is judged.
std::string other_chart(const MemoryCurve& curve) {
  if (curve.epochs.empty()) return {};
  html::LineChart chart = memory_chart();
  chart.title = "All measures of memory";
  chart.note = "";
  std::size_t style = 0;
  for (const auto& [measure, name] :
       {std::pair{&Epoch::tensor_bytes, "tensors"}, std::pair{&Epoch::flushed_bytes, "tensors, flushed"},
        std::pair{&Epoch::driver_bytes, "driver"}, std::pair{&Epoch::resident_bytes, "resident"}}) {
    chart.series.push_back(memory_series(curve, measure, name, style++));
  }
  return html::draw(chart);
}

std::string plateau_cards(const MemoryCurve& curve) {
  std::string cards;
  if (curve.rise_share) {
    cards += html::card(fmt::format("{:+.1f}%", 100 * *curve.rise_share),
                        fmt::format("rise over {} epochs; the limit is {:.4g}%", curve.epochs.size(),
                                    100 * curve.threshold.value_or(kUsualThreshold)));
  }
  if (curve.slope) {
    const auto& [bytes, low, high] = *curve.slope;
    std::string label = "per epoch";
    if (low && high) {
      label += fmt::format(", between {} and {}", html::value_text(*low, html::Unit::kBytes),
                           html::value_text(*high, html::Unit::kBytes));
    }
    cards += html::card(html::value_text(bytes, html::Unit::kBytes), label);
  }
  return cards.empty() ? "" : "<div class=\"cards\">\n" + cards + "</div>\n";
}

std::string sites_table(const MemoryCurve& curve) {
  section::Table table("Places whose tensors grow in number",
                       {"place", "#bytes per epoch", "#tensors per epoch", "example"});
  for (const GrowingSite& site : curve.sites) {
    table.add({section::code_cell(site.site), section::number_cell(site.bytes_per_epoch, html::Unit::kBytes),
               section::number_cell(site.count_per_epoch), section::code_cell(site.example)});
  }
  table.sort_by(1);
  return table.html();
}

section::Cell bytes_cell(std::uint64_t bytes) {
  return section::number_cell(static_cast<double>(bytes), html::Unit::kBytes);
}

std::string epochs_table(const MemoryCurve& curve) {
  section::Table table("Epochs", {"#epoch", "#tensors", "#flushed", "#driver", "#resident", "#seconds", "#steps"});
  for (const Epoch& epoch : curve.epochs) {
    table.add({section::number_cell(static_cast<double>(epoch.index)), bytes_cell(epoch.tensor_bytes),
               bytes_cell(epoch.flushed_bytes), bytes_cell(epoch.driver_bytes), bytes_cell(epoch.resident_bytes),
               section::number_cell(epoch.seconds, html::Unit::kSeconds),
               section::number_cell(static_cast<double>(epoch.steps))});
  }
  return table.html();
}

std::string verdict_sentence(std::optional<document::Verdict> verdict) {
  if (verdict == document::Verdict::kGood) return "Memory stays level, within the threshold.";
  if (verdict == document::Verdict::kBad) return "Memory rises with every epoch: something is retained.";
  return "Whether memory stays level could not be found out.";
}

}  // namespace

std::string plateau_section(const Runs& runs) {
  std::string html;
  if (runs.size() > 1) {
    html::LineChart together = memory_chart();
    for (const Run& run : runs) {
      const MemoryCurve& curve = run.document.measured.curve;
      together.series.push_back(memory_series(curve, measured_bytes(curve), run.label, run.style));
    }
    html += html::draw(together);
  }
  return html + section::beside(runs, [](const Run& run) {
           const MemoryCurve& curve = run.document.measured.curve;
           const std::string lead = html::escaped(verdict_sentence(run.document.head.verdict));
           return fmt::format("<p class=\"lead\">{}</p>\n", lead) + plateau_cards(curve) +
                  section::chart_row(own_chart(curve) + other_chart(curve)) +
                  section::titled("What grows", sites_table(curve)) +
                  section::folded("All epochs", epochs_table(curve)) +
                  section::titled("Notes", section::bullets(curve.notes));
         });
}

}  // namespace anymps::lab::runbook::plateau
