#include "lab/runbook/doctor/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "lab/html/escape.h"

namespace anymps::lab::runbook::doctor {
namespace {

section::Tone state_tone(GateState state) {
  switch (state) {
    case GateState::kRed:
      return section::Tone::kBad;
    case GateState::kYellow:
      return section::Tone::kClose;
    default:
      return section::Tone::kGood;
  }
}

std::string summary_of(const std::vector<Gate>& gates) {
  std::string text;
  for (const GateState state : kWorstFirst) {
    const auto number = std::ranges::count(gates, state, &Gate::state);
    if (number != 0)
      text += section::badge(state_tone(state), fmt::format("{} {}", number, document::word_of(state))) + " ";
  }
  return text.empty() ? "" : "<p>" + text + "</p>\n";
}

// What to do, of those gates where something is to be done.
std::string remedies(const std::vector<Gate>& gates) {
  std::string list;
  for (const Gate& gate : gates) {
    if (gate.state == GateState::kGreen || gate.remedy.empty()) continue;
    list += fmt::format("<li><b>{}:</b> {}</li>\n", html::escaped(gate.name), html::escaped(gate.remedy));
  }
  return list.empty() ? "" : "<ul>\n" + list + "</ul>\n";
}

std::string gates_table(const std::vector<Gate>& gates) {
  section::Table table("Gates", {"state", "gate", "value", "why"});
  for (const GateState wanted : kWorstFirst) {
    for (const Gate& gate : gates) {
      if (gate.state != wanted) continue;
      table.add({section::badge_cell(state_tone(gate.state), document::word_of(gate.state)),
                 section::text_cell(gate.name), section::code_cell(gate.value), section::text_cell(gate.why)});
    }
  }
  return table.html();
}

}  // namespace

std::string doctor_section(const section::DocumentRuns<DoctorDocument>& runs) {
  return section::beside(runs, [](const section::DocumentRun<DoctorDocument>& run) {
    const std::vector<Gate>& gates = run.document.gates;
    return summary_of(gates) + section::titled("To do", remedies(gates)) + gates_table(gates);
  });
}

}  // namespace anymps::lab::runbook::doctor
