#include "lab/runbook/parity/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "lab/base/text_wrap.h"

namespace anymps::lab::runbook::parity {
namespace {

using nlohmann::json;

constexpr std::size_t kWidestParity = 120;
constexpr std::size_t kMostRows = 8;   // of a table; --json has them all
constexpr std::size_t kMostSteps = 6;  // of the drift

std::string number_or_dash(const json& value, const char* format = "{:.3g}") {
  return value.is_number() ? fmt::format(fmt::runtime(format), value.get<double>()) : "-";
}

class ParityScreen {
 public:
  ParityScreen(const json& document, const base::Terminal& terminal)
      : document_(document), terminal_(terminal), width_(std::clamp<std::size_t>(terminal.width, 40, kWidestParity)) {}

  std::string draw() {
    for (const json& comparison : document_.at("comparisons")) draw_comparison(comparison);
    draw_policy();
    draw_metric();
    draw_table();
    draw_genuine();
    for (const json& note : document_.at("notes"))
      text_ += "note: " + base::wrapped(note.get<std::string>(), width_, "      ");
    draw_verdict();
    return std::move(text_);
  }

 private:
  void heading(const std::string& title) { text_ += terminal_.paint("1", title) + "\n"; }

  void draw_comparison(const json& comparison) {
    heading(fmt::format("{} against {}, seed {}{}", comparison.at("device").get<std::string>(),
                        document_.at("reference").get<std::string>(), document_.at("seed").get<std::int64_t>(),
                        document_.at("no_dropout").get<bool>() ? ", without dropout" : ""));
    if (comparison.at("outcome") != "ran") {
      text_ += fmt::format("  {}; the last that it printed:\n", comparison.at("outcome").get<std::string>());
      draw_output(comparison.at("output"));
      return;
    }
    draw_rows("layer", comparison.at("layers"), true);
    draw_rows("gradient", comparison.at("gradients"), false);
    draw_drift(comparison);
    text_ += "\n";
  }

  void draw_output(const json& output) {
    constexpr std::size_t kLines = 12;
    std::vector<std::string> lines;
    const auto whole = output.get<std::string>();
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find('\n', begin), whole.size());
      lines.push_back(whole.substr(begin, end - begin));
      begin = end + 1;
    }
    for (std::size_t i = lines.size() - std::min(lines.size(), kLines); i < lines.size(); ++i) {
      text_ += "  | " + lines[i] + "\n";
    }
    text_ += "\n";
  }

  // Those that differ most, in the order in which they were recorded.
  void draw_rows(const char* what, const json& rows, bool is_layers) {
    if (rows.empty()) return;
    std::vector<const json*> order;
    for (const json& row : rows) order.push_back(&row);
    const auto badness = [](const json* row) {
      return std::tuple(row->at("over").get<bool>(), !row->at("random").get<bool>(),
                        row->at("not_finite").get<std::uint64_t>(), row->at("max_relative").get<double>());
    };
    std::ranges::stable_sort(order, [&](const json* a, const json* b) { return badness(a) > badness(b); });
    order.resize(std::min(order.size(), kMostRows));
    std::ranges::sort(order);  // back to where they stand in the document
    const std::size_t name_width = width_ - 48;
    text_ += fmt::format("  {:<{}} {:<9} {:>10} {:>9} {:>9}\n", what, name_width, "dtype", "max ulps", "relative",
                         "absolute");
    for (const json* row : order) {
      const bool over = row->at("over").get<bool>();
      auto name = row->at("name").get<std::string>();
      if (is_layers) name += " (" + row->at("kind").get<std::string>() + ")";
      std::string line = fmt::format("  {:<{}} {:<9} {:>10} {:>9} {:>9}", base::keep_end(name, name_width), name_width,
                                     row->at("dtype").get<std::string>(), number_or_dash(row->at("max_ulps"), "{:.0f}"),
                                     number_or_dash(row->at("max_relative"), "{:.2g}"),
                                     number_or_dash(row->at("max_absolute"), "{:.2g}"));
      if (over) line += " bad";
      if (row->at("random").get<bool>()) line += " rnd";
      text_ += (over ? terminal_.paint("31", line) : line) + "\n";
    }
    if (rows.size() > order.size()) text_ += fmt::format("  … and {} that differ less\n", rows.size() - order.size());
  }

  void draw_drift(const json& comparison) {
    const json& steps = comparison.at("steps");
    if (steps.empty()) return;
    text_ += fmt::format("  {:<6} {:>14} {:>14} {:>10} {:>10}\n", "step", "loss", "reference", "relative", "ulps");
    const std::size_t shown = std::min(steps.size(), kMostSteps);
    for (std::size_t i = 0; i < shown; ++i) {
      const json& step = steps[shown == 1 ? 0 : i * (steps.size() - 1) / (shown - 1)];
      text_ +=
          fmt::format("  {:<6} {:>14} {:>14} {:>10} {:>10}\n", step.at("step").get<std::uint64_t>(),
                      number_or_dash(step.at("loss"), "{:.7g}"), number_or_dash(step.at("reference_loss"), "{:.7g}"),
                      number_or_dash(step.at("relative"), "{:.2g}"), number_or_dash(step.at("ulps"), "{:.0f}"));
    }
    const json& slope = comparison.at("drift").at("decades_per_step");
    if (slope.is_number() && slope.get<double>() > 0) {
      text_ += fmt::format("  the difference grows tenfold in about {:.0f} steps\n", 1 / slope.get<double>());
    }
  }

  void draw_policy() {
    const json& rows = document_.at("dtype_policy");
    if (rows.empty()) return;
    heading("dtypes by kind of layer");
    std::size_t widest = 4;
    for (const json& row : rows) widest = std::max(widest, base::length_of(row.at("kind").get<std::string>()));
    text_ +=
        fmt::format("  {:<{}} {:<12} {:<12} {:<12} {}\n", "kind", widest, "weight", "output", "statistics", "gradient");
    for (const json& row : rows) {
      const auto cell = [&row](const char* field) {
        const auto text = row.at(field).get<std::string>();
        return text.empty() ? std::string("-") : text;
      };
      const std::string line =
          fmt::format("  {:<{}} {:<12} {:<12} {:<12} {}", row.at("kind").get<std::string>(), widest, cell("weight"),
                      cell("output"), cell("statistics"), cell("gradient"));
      text_ += (row.at("disagree").get<bool>() ? terminal_.paint("33", line) : line) + "\n";
    }
    text_ += "\n";
  }

  void draw_metric() {
    const json& metric = document_.at("metric");
    if (metric.is_null()) return;
    heading(
        fmt::format("{} (tolerance {})", metric.at("name").get<std::string>(), number_or_dash(metric.at("tolerance"))));
    for (const auto& [device, value] : metric.at("values").items()) {
      text_ += fmt::format("  {:<8} {}\n", device, number_or_dash(value, "{:.6g}"));
    }
    text_ += "\n";
  }

  void draw_table() {
    const json& table = document_.at("table");
    if (table.is_null()) return;
    const auto path = table.at("path").get<std::string>();
    const json& changed = table.at("changed");
    if (table.at("updated").get<bool>()) {
      text_ += fmt::format("{} was written: review it, and commit it.\n\n", path);
    } else if (changed.empty()) {
      text_ += fmt::format("All is as reviewed in {}.\n\n", path);
    } else {
      heading(fmt::format("changed since {} was reviewed", path));
      for (const json& change : changed) text_ += "  " + base::wrapped(change.get<std::string>(), width_, "    ");
      text_ += "\n";
    }
  }

  void draw_genuine() {
    const json& rows = document_.at("genuine");
    if (rows.empty()) return;
    heading("Apple's own kernels against the CPU's, on values of these layers");
    text_ += fmt::format("  {:<16} {:<40} {:>8} {:>9}\n", "operator", "kernel", "max ulps", "relative");
    for (const json& row : rows) {
      text_ += fmt::format("  {:<16} {:<40} {:>8} {:>9}\n", row.at("operator").get<std::string>(),
                           row.at("kernel").get<std::string>(), number_or_dash(row.at("max_ulps"), "{:.0f}"),
                           number_or_dash(row.at("max_relative"), "{:.2g}"));
    }
    text_ += "\n";
  }

  void draw_verdict() {
    const auto verdict = document_.at("verdict").get<std::string>();
    if (const auto output = document_.find("output"); output != document_.end()) draw_output(*output);
    for (const json& finding : document_.at("findings"))
      text_ += "- " + base::wrapped(finding.get<std::string>(), width_, "  ");
    const char* colour = verdict == "good" ? "32" : verdict == "bad" ? "31" : "33";
    const char* said = verdict == "good"  ? "the devices agree within the limits"
                       : verdict == "bad" ? "the devices do not agree"
                                          : "it could not be found out";
    text_ += terminal_.paint(colour, verdict) +
             fmt::format(": {}; run {} of the logbook\n", said, document_.at("run").get<std::int64_t>());
  }

  const json& document_;
  const base::Terminal& terminal_;
  std::size_t width_;
  std::string text_;
};

}  // namespace

std::string parity_screen(const json& document, const base::Terminal& terminal) {
  return ParityScreen(document, terminal).draw();
}

}  // namespace anymps::lab::runbook::parity
