#include "lab/runbook/sweep/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"
#include "lab/runbook/screen/parts.h"

namespace anymps::lab::runbook::sweep {
namespace {

// Columns of the table that a narrow terminal does without.
constexpr std::size_t kQuartiles = 2;
constexpr std::size_t kFirstStep = 4;
constexpr std::size_t kOfLimit = 6;
constexpr std::size_t kMarks = 7;

std::string mark_of(const SweepSeries& series, std::uint64_t batch) {
  std::string mark;
  if (series.knee && series.knee->batch == batch) mark += " knee";
  if (series.edge && series.edge->largest_good == batch) mark += " edge";
  if (series.recommended && series.recommended->batch == batch) mark += " recommended";
  return mark;
}

std::string sentence(const char* what, const std::optional<std::string>& found, const base::Terminal& terminal) {
  if (!found) return fmt::format("  {:<12} none\n", what);
  return base::wrapped(fmt::format("  {:<12} {}", what, *found), terminal.width, "               ", terminal);
}

std::string sentences_of(const SweepSeries& series, const base::Terminal& terminal) {
  std::optional<std::string> knee;
  std::optional<std::string> edge;
  std::optional<std::string> recommended;
  if (series.knee) knee = fmt::format("{}: {}", series.knee->batch, series.knee->why);
  if (series.edge) {
    edge = fmt::format("{}{}: {}", series.edge->largest_good, series.edge->extrapolated ? " (extrapolated)" : "",
                       series.edge->why);
  }
  if (series.recommended) recommended = fmt::format("{}: {}", series.recommended->batch, series.recommended->why);
  return sentence("knee", knee, terminal) + sentence("edge", edge, terminal) +
         sentence("recommended", recommended, terminal);
}

// Whose limits these are, and whose speed.
std::string about_the_machine(const SweepDocument& document, const base::Terminal& terminal) {
  if (!document.head.simulated()) return {};
  std::string text = fmt::format("  {} is simulated", document.mac.value_or("a Mac of this size"));
  std::uint64_t limit = 0;
  for (const SweepSeries& series : document.series) {
    for (const SweepPoint& point : series.points) limit = std::max(limit, point.limit_bytes);
  }
  if (limit > 0) text += fmt::format(": PyTorch refuses beyond {}", base::human_bytes(limit));
  if (document.max_buffer_bytes) {
    text += fmt::format(", and a single buffer of {} or more", base::human_bytes(*document.max_buffer_bytes));
  }
  return base::wrapped(text + ". Times and samples/s are those of this machine, not of a Mac.", terminal.width, "  ",
                       terminal);
}

// Why each point that did not run did not, once for the same reason.
std::string failures_of(const SweepSeries& series, const base::Terminal& terminal) {
  std::string text;
  std::set<std::string> told;
  for (const SweepPoint& point : series.points) {
    if (point.ran() || point.why.empty() || !told.insert(point.why).second) continue;
    text += "  " + base::wrapped(fmt::format("batch {}, {}: {}", point.batch, word_of(point.outcome), point.why),
                                 terminal.width - 2, "    ", terminal);
    const bool is_memory =
        point.outcome == document::Outcome::kOutOfMemory || point.outcome == document::Outcome::kWouldSwap;
    if (is_memory) continue;
    std::istringstream lines(point.output);
    for (std::string line; std::getline(lines, line);) text += base::fitted_line("    | ", line, terminal);
  }
  return text;
}

std::vector<std::string> row_of(const SweepSeries& series, const SweepPoint& point) {
  const std::string batch = std::to_string(point.batch);
  if (!point.ran()) return {batch, std::string(word_of(point.outcome)), "", "", "", "", "", ""};
  return {batch,
          screen::number_text(point.samples_per_second),
          screen::number_text(point.samples_low) + " - " + screen::number_text(point.samples_high),
          screen::seconds_text(point.step_seconds),
          point.first_step_seconds > 0 ? screen::seconds_text(point.first_step_seconds) : "-",
          base::human_bytes(point.peak_bytes),
          screen::percent_text(point.watermark_share()),
          mark_of(series, point.batch)};
}

}  // namespace

std::string sweep_screen(const SweepDocument& document, const base::Terminal& terminal) {
  std::string text =
      screen::verdict_line(document.head.verdict, fmt::format("sweep of {}", document.argument), terminal);
  text += about_the_machine(document, terminal);
  for (const SweepSeries& series : document.series) {
    for (const auto& [name, value] : series.axes) {
      text += "\n" + base::fitted_line("", name + " " + value, terminal);
    }
    std::vector<std::vector<std::string>> rows = {
        {"batch", "samples/s", "quartiles", "step", "first step", "peak", "of limit", ""}};
    for (const SweepPoint& point : series.points) rows.push_back(row_of(series, point));
    // The sentences below say what the marks do.
    text += screen::columns(rows, terminal, {kMarks, kQuartiles, kFirstStep, kOfLimit});
    text += failures_of(series, terminal);
    text += sentences_of(series, terminal);
    text += screen::notes_text(series.notes, terminal);
  }
  return text + screen::notes_text(document.notes, terminal);
}

}  // namespace anymps::lab::runbook::sweep
