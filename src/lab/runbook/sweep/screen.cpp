#include "lab/runbook/sweep/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"
#include "lab/runbook/screen/parts.h"

namespace anymps::lab::runbook::sweep {
namespace {

using nlohmann::json;

// Columns of the table that a narrow terminal does without.
constexpr std::size_t kQuartiles = 2;
constexpr std::size_t kFirstStep = 4;
constexpr std::size_t kOfLimit = 6;
constexpr std::size_t kMarks = 7;

std::string mark_of(const json& series, std::uint64_t batch) {
  std::string mark;
  const auto is_batch = [&](const char* what, const char* key) {
    const json& part = series.value(what, json());
    return part.is_object() && part.value(key, json()) == json(batch);
  };
  if (is_batch("knee", "batch")) mark += " knee";
  if (is_batch("edge", "largest_good")) mark += " edge";
  if (is_batch("recommended", "batch")) mark += " recommended";
  return mark;
}

std::string sentence(const json& series, const char* what, const char* key, const base::Terminal& terminal) {
  const json part = series.value(what, json());
  if (!part.is_object()) return fmt::format("  {:<12} none\n", what);
  const std::string label = part.value("extrapolated", false) ? " (extrapolated)" : "";
  return base::wrapped(
      fmt::format("  {:<12} {}{}: {}", what, part.value(key, json()).dump(), label, part.value("why", "")),
      terminal.width, "               ", terminal);
}

// Whose limits these are, and whose speed.
std::string about_the_machine(const json& document, const base::Terminal& terminal) {
  const json facts = document.value("facts", json::object());
  if (facts.value("simulated", json()) != json(true)) return {};
  const json mac = document.value("mac", json());
  std::string text = fmt::format("  {} is simulated", mac.is_string() ? mac.get<std::string>() : "a Mac of this size");
  std::uint64_t limit = 0;
  for (const json& series : document.value("series", json::array())) {
    for (const json& point : series.value("points", json::array())) {
      limit = std::max(limit, point.value("limit_bytes", std::uint64_t{0}));
    }
  }
  if (limit > 0) text += fmt::format(": PyTorch refuses beyond {}", base::human_bytes(limit));
  if (document.value("max_buffer_bytes", json()).is_number()) {
    text += fmt::format(", and a single buffer of {} or more", screen::bytes_at(document, "max_buffer_bytes"));
  }
  return base::wrapped(text + ". Times and samples/s are those of this machine, not of a Mac.", terminal.width, "  ",
                       terminal);
}

// Why each point that did not run did not, once for the same reason.
std::string failures_of(const json& series, const base::Terminal& terminal) {
  std::string text;
  std::set<std::string> told;
  for (const json& point : series.value("points", json::array())) {
    const std::string outcome = point.value("outcome", "");
    const std::string why = point.value("why", "");
    if (outcome == "ran" || why.empty() || !told.insert(why).second) continue;
    text += "  " + base::wrapped(fmt::format("batch {}, {}: {}", point.value("batch", std::uint64_t{0}), outcome, why),
                                 terminal.width - 2, "    ", terminal);
    if (outcome == "out of memory" || outcome == "would swap") continue;
    std::istringstream lines(point.value("output", ""));
    for (std::string line; std::getline(lines, line);) text += base::fitted_line("    | ", line, terminal);
  }
  return text;
}

std::string first_step_of(const json& point) {
  return point.value("first_step_seconds", 0.0) > 0 ? screen::seconds_at(point, "first_step_seconds") : "-";
}

}  // namespace

std::string sweep_screen(const json& document, const base::Terminal& terminal) {
  std::string text =
      screen::verdict_line(document, fmt::format("sweep of {}", document.value("argument", "")), terminal);
  text += about_the_machine(document, terminal);
  for (const json& series : document.value("series", json::array())) {
    const json axes = series.value("axes", json::object());
    for (const auto& [name, value] : axes.items()) {
      text += "\n" + base::fitted_line("", name + " " + (value.is_string() ? value.get<std::string>() : value.dump()),
                                       terminal);
    }
    std::vector<std::vector<std::string>> rows = {
        {"batch", "samples/s", "quartiles", "step", "first step", "peak", "of limit", ""}};
    for (const json& point : series.value("points", json::array())) {
      const auto batch = point.value("batch", std::uint64_t{0});
      if (point.value("outcome", "") != "ran") {
        rows.push_back({std::to_string(batch), point.value("outcome", ""), "", "", "", "", "", ""});
        continue;
      }
      rows.push_back({std::to_string(batch), screen::number_at(point, "samples_per_second"),
                      screen::number_at(point, "samples_low") + " - " + screen::number_at(point, "samples_high"),
                      screen::seconds_at(point, "step_seconds"), first_step_of(point),
                      screen::bytes_at(point, "peak_bytes"), screen::percent_at(point, "watermark_share"),
                      mark_of(series, batch)});
    }
    // The sentences below say what the marks do.
    text += screen::columns(rows, terminal, {kMarks, kQuartiles, kFirstStep, kOfLimit});
    text += failures_of(series, terminal);
    text += sentence(series, "knee", "batch", terminal);
    text += sentence(series, "edge", "largest_good", terminal);
    text += sentence(series, "recommended", "batch", terminal);
    text += screen::notes_of(series, terminal);
  }
  return text + screen::notes_of(document, terminal);
}

}  // namespace anymps::lab::runbook::sweep
