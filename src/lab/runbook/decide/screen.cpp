#include "lab/runbook/decide/screen.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lab/base/text_wrap.h"
#include "lab/runbook/screen/parts.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

std::string wrapped_at(std::string_view indent, const std::string& text, const base::Terminal& terminal) {
  return std::string(indent) + base::wrapped(text, terminal.width - indent.size(), indent);
}

}  // namespace

std::string decide_screen(const json& document, const base::Terminal& terminal) {
  const json decision = document.value("decision", json::object());
  std::string text = fmt::format("decision: {}\n", terminal.paint("1", decision.value("outcome", "")));
  text += wrapped_at("  ", decision.value("why", ""), terminal);
  for (const json& option : decision.value("options", json::array())) text += "  - " + option.get<std::string>() + "\n";

  std::vector<std::vector<std::string>> rows = {{"threshold", "measured", "limit", ""}};
  for (const json& row : document.value("thresholds", json::array())) {
    rows.push_back({row.value("name", ""), screen::percent_at(row, "value"), screen::percent_at(row, "limit"),
                    row.value("value", json()).is_null() ? "not judged"
                    : row.value("exceeded", false)       ? "exceeded"
                                                         : ""});
  }
  text += "\n" + screen::columns(rows);
  rows = {{"candidate", "a step", ""}};
  for (const json& row : document.value("candidates", json::array())) {
    rows.push_back({row.value("name", ""), screen::seconds_at(row, "step_seconds"), row.value("note", "")});
  }
  text += "\n" + screen::columns(rows);
  if (const json held = document.value("holding_back", json::array()); !held.empty()) {
    text += "\n  operators that hold it back\n";
    for (const json& row : held) {
      text += fmt::format("  - {}: {}\n", row.value("operator", ""), row.value("reason", ""));
    }
  }
  text += "\n";
  for (const json& row : document.value("symptoms", json::array())) {
    const bool applies = row.value("applies", false);
    text += fmt::format("  [{}] {}\n", applies ? terminal.paint("31", "x") : " ", row.value("symptom", ""));
    if (!applies) continue;
    text += wrapped_at("      ",
                       fmt::format("{}. Suspect {}: {}.", row.value("evidence", ""), row.value("hypothesis", ""),
                                   row.value("action", "")),
                       terminal);
  }
  if (const json rule = document.value("stop_rule", json()); rule.is_object()) {
    text += "\n" + wrapped_at("  ", rule.value("why", ""), terminal);
  }
  if (const json rejected = document.value("rejected", json::array()); !rejected.empty()) {
    text += "\n  rejected before\n";
    for (const json& row : rejected) {
      text += wrapped_at("    ", fmt::format("{}: {}", row.value("text", ""), row.value("why", "")), terminal);
    }
  }
  return text + screen::notes_of(document, terminal);
}

}  // namespace anymps::lab::runbook::decide
