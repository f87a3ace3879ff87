#include "lab/runbook/handoff/section.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::handoff {
namespace {

using nlohmann::json;

std::string differences_html(const std::vector<Difference>& differences) {
  if (differences.empty()) return "<p>" + section::badge(section::Tone::kGood, "nothing differs") + "</p>\n";
  section::Table table("Differences", {"severity", "kind", "name", "here", "there"});
  for (const Difference& one : differences) {
    const section::Tone tone = one.severity == Severity::kRed ? section::Tone::kBad : section::Tone::kClose;
    table.add({section::badge_cell(tone, document::word_of(one.severity)),
               section::text_cell(document::word_of(one.kind)), section::code_cell(one.name),
               section::code_cell(document::in_words(one.here)), section::code_cell(document::in_words(one.there))});
  }
  return table.html();
}

// All other fields are shown as they are.
template <typename Document>
std::string figures_and_notes(const Document& document) {
  json rest = section::own_fields(document::to_json(document));
  rest.erase("differences");
  return section::titled("Figures", section::fields_table("Figures", rest)) +
         section::titled("Notes", section::bullets(document.notes));
}

template <typename Document>
std::string compared(const section::DocumentRuns<Document>& runs) {
  return section::beside(runs, [](const section::DocumentRun<Document>& run) {
    return section::titled("Differences", differences_html(run.document.differences)) + figures_and_notes(run.document);
  });
}

}  // namespace

std::string pack_section(const section::DocumentRuns<PackDocument>& runs) {
  return section::beside(runs,
                         [](const section::DocumentRun<PackDocument>& run) { return figures_and_notes(run.document); });
}

std::string verify_section(const section::DocumentRuns<VerifyDocument>& runs) { return compared(runs); }

std::string smoke_section(const section::DocumentRuns<SmokeDocument>& runs) { return compared(runs); }

}  // namespace anymps::lab::runbook::handoff
