#include "lab/runbook/doctor/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "lab/html/escape.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::doctor {
namespace {

using nlohmann::json;

section::Tone state_tone(const std::string& state) {
  if (state == "green") return section::Tone::kGood;
  if (state == "yellow") return section::Tone::kClose;
  return state == "red" ? section::Tone::kBad : section::Tone::kPlain;
}

std::string summary_of(const json& gates) {
  std::string text;
  for (const char* state : {"red", "yellow", "green"}) {
    const auto number =
        std::ranges::count_if(gates, [state](const json& gate) { return document::words_in(gate, "state") == state; });
    if (number != 0) text += section::badge(state_tone(state), fmt::format("{} {}", number, state)) + " ";
  }
  return text.empty() ? "" : "<p>" + text + "</p>\n";
}

// What to do, of those gates where something is to be done.
std::string remedies(const json& gates) {
  std::string list;
  for (const json& gate : gates) {
    const std::string remedy = document::words_in(gate, "remedy");
    if (document::words_in(gate, "state") == "green" || remedy.empty()) continue;
    list +=
        fmt::format("<li><b>{}:</b> {}</li>\n", html::escaped(document::words_in(gate, "name")), html::escaped(remedy));
  }
  return list.empty() ? "" : "<ul>\n" + list + "</ul>\n";
}

}  // namespace

std::string doctor_section(const section::ReportRuns& runs) {
  return section::beside(runs, [](const section::ReportRun& run) {
    const json& gates = document::list_in(run.document, "gates");
    section::Table table("Gates", {"state", "gate", "value", "why"});
    for (const char* wanted : {"red", "yellow", ""}) {
      for (const json& gate : gates) {
        const std::string state = document::words_in(gate, "state");
        const bool is_urgent = state == "red" || state == "yellow";
        if (is_urgent ? state != wanted : *wanted != '\0') continue;
        table.add({section::badge_cell(state_tone(state), state), section::text_cell(document::words_in(gate, "name")),
                   section::code_cell(document::words_in(gate, "value")),
                   section::text_cell(document::words_in(gate, "why"))});
      }
    }
    return summary_of(gates) + section::titled("To do", remedies(gates)) + table.html() +
           section::titled("Notes", section::bullets(document::list_in(run.document, "notes")));
  });
}

}  // namespace anymps::lab::runbook::doctor
