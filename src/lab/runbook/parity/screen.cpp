#include "lab/runbook/parity/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "lab/base/text_wrap.h"

namespace anymps::lab::runbook::parity {
namespace {

constexpr std::size_t kWidestParity = 120;
constexpr std::size_t kMostRows = 8;   // of a table; --json has them all
constexpr std::size_t kMostSteps = 6;  // of the drift

std::string number_or_dash(std::optional<double> value, const char* format = "{:.3g}") {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

std::string ulps_text(std::optional<std::uint64_t> ulps) {
  return ulps ? fmt::format("{:.0f}", static_cast<double>(*ulps)) : "-";
}

class ParityScreen {
 public:
  ParityScreen(const ParityDocument& document, const base::Terminal& terminal)
      : document_(document), terminal_(terminal), width_(std::clamp<std::size_t>(terminal.width, 40, kWidestParity)) {}

  std::string draw() {
    for (const Comparison& comparison : document_.comparisons) draw_comparison(comparison);
    draw_policy();
    draw_metric();
    draw_table();
    draw_genuine();
    for (const std::string& note : document_.notes) text_ += "note: " + base::wrapped(note, width_, "      ");
    draw_verdict();
    return std::move(text_);
  }

 private:
  void heading(const std::string& title) { text_ += terminal_.paint("1", title) + "\n"; }

  void draw_comparison(const Comparison& comparison) {
    heading(fmt::format("{} against {}, seed {}{}", comparison.device, document_.reference, document_.seed,
                        document_.no_dropout ? ", without dropout" : ""));
    if (!comparison.ran()) {
      text_ += fmt::format("  {}; the last that it printed:\n", word_of(comparison.outcome));
      draw_output(comparison.output);
      return;
    }
    draw_rows("layer", comparison.layers, true);
    draw_rows("gradient", comparison.gradients, false);
    draw_drift(comparison);
    text_ += "\n";
  }

  void draw_output(const std::string& output) {
    constexpr std::size_t kLines = 12;
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < output.size();) {
      const std::size_t end = std::min(output.find('\n', begin), output.size());
      lines.push_back(output.substr(begin, end - begin));
      begin = end + 1;
    }
    for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
      text_ += "  | " + lines[i] + "\n";
    }
    text_ += "\n";
  }

  // Those that differ most, in the order in which they were recorded.
  void draw_rows(const char* what, const std::vector<TensorDifference>& rows, bool is_layers) {
    if (rows.empty()) return;
    std::vector<const TensorDifference*> order;
    for (const TensorDifference& row : rows) order.push_back(&row);
    const auto badness = [](const TensorDifference* row) {
      return std::tuple(row->over, !row->random, row->not_finite, row->relative());
    };
    std::ranges::stable_sort(order, std::greater<>(), badness);
    order.resize(std::min(order.size(), kMostRows));
    std::ranges::sort(order);  // back to where they stand in the document
    const std::size_t name_width = width_ - 48;
    text_ += fmt::format("  {:<{}} {:<9} {:>10} {:>9} {:>9}\n", what, name_width, "dtype", "max ulps", "relative",
                         "absolute");
    for (const TensorDifference* row : order) {
      const std::string name = is_layers ? row->name + " (" + row->kind + ")" : row->name;
      std::string line = fmt::format("  {:<{}} {:<9} {:>10} {:>9} {:>9}", base::keep_end(name, name_width), name_width,
                                     row->dtype, ulps_text(row->max_ulps), number_or_dash(row->max_relative, "{:.2g}"),
                                     number_or_dash(row->max_absolute, "{:.2g}"));
      if (row->over) line += " bad";
      if (row->random) line += " rnd";
      text_ += (row->over ? terminal_.paint("31", line) : line) + "\n";
    }
    if (rows.size() > order.size()) text_ += fmt::format("  … and {} that differ less\n", rows.size() - order.size());
  }

  void draw_drift(const Comparison& comparison) {
    const std::vector<StepDifference>& steps = comparison.steps;
    if (steps.empty()) return;
    text_ += fmt::format("  {:<6} {:>14} {:>14} {:>10} {:>10}\n", "step", "loss", "reference", "relative", "ulps");
    const std::size_t shown = std::min(steps.size(), kMostSteps);
    for (std::size_t i = 0; i < shown; ++i) {
      const StepDifference& step = steps[shown == 1 ? 0 : i * (steps.size() - 1) / (shown - 1)];
      text_ += fmt::format("  {:<6} {:>14} {:>14} {:>10} {:>10}\n", step.step, number_or_dash(step.loss, "{:.7g}"),
                           number_or_dash(step.reference_loss, "{:.7g}"), number_or_dash(step.relative, "{:.2g}"),
                           ulps_text(step.ulps));
    }
    const std::optional<double> slope = comparison.drift.value_or(Drift{}).decades_per_step;
    if (slope.value_or(0) > 0) {
      text_ += fmt::format("  the difference grows tenfold in about {:.0f} steps\n", 1 / *slope);
    }
  }

  void draw_policy() {
    const std::vector<LayerDtypes>& rows = document_.dtype_policy;
    if (rows.empty()) return;
    heading("dtypes by kind of layer");
    std::size_t widest = 4;
    for (const LayerDtypes& row : rows) widest = std::max(widest, base::length_of(row.kind));
    text_ +=
        fmt::format("  {:<{}} {:<12} {:<12} {:<12} {}\n", "kind", widest, "weight", "output", "statistics", "gradient");
    const auto cell = [](const std::string& text) { return text.empty() ? "-" : text; };
    for (const LayerDtypes& row : rows) {
      const std::string line = fmt::format("  {:<{}} {:<12} {:<12} {:<12} {}", row.kind, widest, cell(row.weight),
                                           cell(row.output), cell(row.statistics), cell(row.gradient));
      text_ += (row.disagree ? terminal_.paint("33", line) : line) + "\n";
    }
    text_ += "\n";
  }

  void draw_metric() {
    const std::optional<Metric>& metric = document_.metric;
    if (!metric) return;
    heading(fmt::format("{} (tolerance {})", metric->name, number_or_dash(metric->tolerance)));
    for (const auto& [device, value] : metric->values) {
      text_ += fmt::format("  {:<8} {}\n", device, number_or_dash(value, "{:.6g}"));
    }
    text_ += "\n";
  }

  void draw_table() {
    const std::optional<ReviewedTable>& table = document_.table;
    if (!table) return;
    if (table->updated) {
      text_ += fmt::format("{} was written: review it, and commit it.\n\n", table->path);
    } else if (table->changed.empty()) {
      text_ += fmt::format("All is as reviewed in {}.\n\n", table->path);
    } else {
      heading(fmt::format("changed since {} was reviewed", table->path));
      for (const std::string& change : table->changed) text_ += "  " + base::wrapped(change, width_, "    ");
      text_ += "\n";
    }
  }

  void draw_genuine() {
    const std::vector<GenuineKernel>& rows = document_.genuine;
    if (rows.empty()) return;
    heading("Apple's own kernels against the CPU's, on values of these layers");
    text_ += fmt::format("  {:<16} {:<40} {:>8} {:>9}\n", "operator", "kernel", "max ulps", "relative");
    for (const GenuineKernel& row : rows) {
      text_ += fmt::format("  {:<16} {:<40} {:>8} {:>9}\n", row.op, row.kernel, ulps_text(row.max_ulps),
                           number_or_dash(row.max_relative, "{:.2g}"));
    }
    text_ += "\n";
  }

  void draw_verdict() {
    if (document_.output) draw_output(*document_.output);
    for (const std::string& finding : document_.findings) text_ += "- " + base::wrapped(finding, width_, "  ");
    const auto verdict = document_.head.verdict.value_or(document::Verdict::kUnknown);
    const bool good = verdict == document::Verdict::kGood;
    const bool bad = verdict == document::Verdict::kBad;
    const std::string_view colour = good ? base::kGreen : bad ? base::kRed : base::kYellow;
    const char* said = good  ? "the devices agree within the limits"
                       : bad ? "the devices do not agree"
                             : "it could not be found out";
    text_ += terminal_.paint(colour, word_of(verdict)) +
             fmt::format(": {}; run {} of the logbook\n", said, document_.head.run);
  }

  const ParityDocument& document_;
  const base::Terminal& terminal_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string parity_screen(const ParityDocument& document, const base::Terminal& terminal) {
  return ParityScreen(document, terminal).draw();
}

}  // namespace anymps::lab::runbook::parity
