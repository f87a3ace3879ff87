#include <fmt/format.h>

#include <algorithm>

#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

Tone state_tone(const std::string& state) {
  if (state == "green") return Tone::kGood;
  if (state == "yellow") return Tone::kClose;
  return state == "red" ? Tone::kBad : Tone::kPlain;
}

std::string summary_of(const json& gates) {
  std::string text;
  for (const char* state : {"red", "yellow", "green"}) {
    const auto number =
        std::ranges::count_if(gates, [state](const json& gate) { return text_in(gate, "state") == state; });
    if (number != 0) text += badge(state_tone(state), fmt::format("{} {}", number, state)) + " ";
  }
  return text.empty() ? "" : "<p>" + text + "</p>\n";
}

// What to do, of those gates where something is to be done.
std::string remedies(const json& gates) {
  std::string list;
  for (const json& gate : gates) {
    const std::string remedy = text_in(gate, "remedy");
    if (text_in(gate, "state") == "green" || remedy.empty()) continue;
    list += fmt::format("<li><b>{}:</b> {}</li>\n", escaped(text_in(gate, "name")), escaped(remedy));
  }
  return list.empty() ? "" : "<ul>\n" + list + "</ul>\n";
}

}  // namespace

std::string doctor_section(const ReportRuns& runs) {
  return beside(runs, [](const ReportRun& run) {
    const json& gates = list_in(run.document, "gates");
    Table table("Gates", {"state", "gate", "value", "why"});
    for (const char* wanted : {"red", "yellow", ""}) {
      for (const json& gate : gates) {
        const std::string state = text_in(gate, "state");
        const bool is_urgent = state == "red" || state == "yellow";
        if (is_urgent ? state != wanted : *wanted != '\0') continue;
        table.add({badge_cell(state_tone(state), state), text_cell(text_in(gate, "name")),
                   code_cell(text_in(gate, "value")), text_cell(text_in(gate, "why"))});
      }
    }
    return summary_of(gates) + titled("To do", remedies(gates)) + table.html() +
           titled("Notes", bullets(list_in(run.document, "notes")));
  });
}

}  // namespace anymps::lab
