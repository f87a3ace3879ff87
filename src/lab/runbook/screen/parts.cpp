#include "lab/runbook/screen/parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"

namespace anymps::lab::runbook::screen {
namespace {

constexpr const char* kNothing = "-";
constexpr std::size_t kStackLines = 14;

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], base::length_of(row[i]));
  }
  return widths;
}

std::size_t line_width(const std::vector<std::size_t>& widths) {
  return std::accumulate(widths.begin(), widths.end(), std::size_t{0},
                         [](std::size_t sum, std::size_t width) { return sum + (width > 0 ? width + 2 : 0); });
}

// Empty cells; a column that has nothing else takes no room.
void leave_out(Rows& rows, std::size_t column) {
  for (auto& row : rows) row.at(column).clear();
}

}  // namespace

std::string verdict_line(std::optional<document::Verdict> verdict, std::string_view what,
                         const base::Terminal& terminal) {
  const std::string_view colour = verdict == document::Verdict::kGood  ? base::kGreen
                                  : verdict == document::Verdict::kBad ? base::kRed
                                                                       : base::kYellow;
  const std::string_view word = word_of(verdict.value_or(document::Verdict::kUnknown));
  return fmt::format("{}: {}\n", what, terminal.paint(colour, word));
}

std::string columns(const Rows& rows) {
  const std::vector<std::size_t> widths = widths_of(rows);
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string fill(widths[i] - base::length_of(row[i]), ' ');
      line += "  " + (i == 0 ? row[i] + fill : fill + row[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string columns(Rows rows, const base::Terminal& terminal, const std::vector<std::size_t>& spare) {
  for (const std::size_t column : spare) {
    if (line_width(widths_of(rows)) <= terminal.room()) break;
    leave_out(rows, column);
  }
  std::vector<std::size_t> widths = widths_of(rows);
  while (line_width(widths) > terminal.room()) --*std::ranges::max_element(widths);
  for (auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = base::keep_ends(row[i], widths[i]);
  }
  return columns(rows);
}

std::string notes_text(const std::vector<std::string>& notes, const base::Terminal& terminal) {
  std::string text;
  for (const std::string& note : notes) text += "  - " + base::wrapped(note, terminal.width - 4, "    ", terminal);
  return text;
}

std::string failure_text(const std::optional<document::Failure>& failure, const base::Terminal& terminal) {
  if (!failure) return {};
  const std::string_view outcome = word_of(failure->outcome);
  const std::string line = base::fitted(fmt::format("it {}: {}", outcome, failure->why), "    ", terminal);
  std::string text = "  it " + terminal.paint(base::kRed, outcome) + line.substr(3 + outcome.size());
  for (const document::ProcessStack& stack : failure->stacks) {
    text += fmt::format("  where process {} ({}) was:\n", stack.pid, stack.role);
    std::istringstream lines(stack.stack);
    std::size_t shown = 0;
    for (std::string frame; std::getline(lines, frame) && shown < kStackLines; ++shown) {
      text += base::fitted_line("    ", frame, terminal);
    }
  }
  return text;
}

std::string bytes_text(std::optional<double> bytes) {
  return bytes ? base::human_bytes(static_cast<std::uint64_t>(std::max(0.0, *bytes))) : kNothing;
}

std::string seconds_text(std::optional<double> seconds) {
  if (!seconds) return kNothing;
  if (*seconds < 1e-3) return fmt::format("{:.0f} µs", *seconds * 1e6);
  return *seconds < 1 ? fmt::format("{:.1f} ms", *seconds * 1e3) : fmt::format("{:.2f} s", *seconds);
}

std::string percent_text(std::optional<double> share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : kNothing;
}

std::string number_text(std::optional<double> number, int digits) {
  return number ? fmt::format("{:.{}f}", *number, digits) : kNothing;
}

}  // namespace anymps::lab::runbook::screen
