#include "lab/runbook/screen_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "lab/runbook/document_fields.h"
#include "lab/summary_screen.h"
#include "lab/text_wrap.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

constexpr const char* kNothing = "-";
constexpr std::size_t kStackLines = 14;

}  // namespace

std::string verdict_line(const json& document, std::string_view what, const Terminal& terminal) {
  const std::string verdict = document.value("verdict", "unknown");
  const std::string_view colour = verdict == "good" ? kGreen : verdict == "bad" ? kRed : kYellow;
  return fmt::format("{}: {}\n", what, terminal.paint(colour, verdict));
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], length_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(widths[i] - length_of(row[i]), ' ');
      line += "  " + (i == 0 ? row[i] + fill : fill + row[i]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string notes_of(const json& document, const Terminal& terminal) {
  std::string text;
  for (const json& note : document.value("notes", json::array())) {
    if (note.is_string()) text += "  - " + wrapped(note.get<std::string>(), terminal.width - 4, "    ");
  }
  return text;
}

std::string failure_text(const json& failure, const Terminal& terminal) {
  if (!failure.is_object()) return {};
  std::string text =
      fmt::format("  it {}: {}\n", terminal.paint(kRed, failure.value("outcome", "")), failure.value("why", ""));
  for (const json& stack : failure.value("stacks", json::array())) {
    text += fmt::format("  where process {} ({}) was:\n", stack.value("pid", 0), stack.value("role", ""));
    std::istringstream lines(stack.value("stack", ""));
    std::size_t shown = 0;
    for (std::string line; std::getline(lines, line) && shown < kStackLines; ++shown) text += "    " + line + "\n";
  }
  return text;
}

std::string bytes_at(const json& object, const char* key) {
  const auto number = number_in(object, key);
  return number ? human_bytes(static_cast<std::uint64_t>(std::max(0.0, *number))) : kNothing;
}

std::string seconds_at(const json& object, const char* key) {
  const auto number = number_in(object, key);
  if (!number) return kNothing;
  const double seconds = *number;
  if (seconds < 1e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1e3) : fmt::format("{:.2f} s", seconds);
}

std::string percent_at(const json& object, const char* key) {
  const auto number = number_in(object, key);
  return number ? fmt::format("{:.0f}%", 100 * *number) : kNothing;
}

std::string number_at(const json& object, const char* key, int digits) {
  const auto number = number_in(object, key);
  return number ? fmt::format("{:.{}f}", *number, digits) : kNothing;
}

}  // namespace anymps::lab
