#include "lab/runbook/decide/section.h"

#include <fmt/format.h>

#include "lab/html/escape.h"
#include "lab/runbook/document/fields.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

std::string decision_card(const json& document) {
  const json& decision = document::object_in(document, "decision");
  std::string evidence;
  for (const json& one : document::list_in(document, "evidence")) {
    const std::string run = document::words_in(one, "run");
    evidence += fmt::format("<li>{}{}</li>\n", html::escaped(document::words_in(one, "text")),
                            run.empty() ? "" : fmt::format(" <span class=\"dim\">run {}</span>", html::escaped(run)));
  }
  if (!evidence.empty()) evidence = "<h4>Evidence</h4>\n<ul>\n" + evidence + "</ul>\n";
  return fmt::format("<div class=\"decision\"><span class=\"dim\">Decision</span><strong>{}</strong>{}{}</div>\n",
                     html::escaped(document::words_in(decision, "outcome")),
                     section::paragraph(document::words_in(decision, "why")), evidence);
}

std::string thresholds_table(const json& document) {
  section::Table table("Thresholds", {"threshold", "#value", "#limit", "state"});
  for (const json& row : document::list_in(document, "thresholds")) {
    const auto value = document::number_in(row, "value");
    const bool exceeded = document::flag_in(row, "exceeded");
    table.add({section::text_cell(document::words_in(row, "name")), section::number_cell(value, html::Unit::kShare),
               section::number_cell(document::number_in(row, "limit"), html::Unit::kShare),
               !value ? section::badge_cell(section::Tone::kClose, "not judged")
                      : section::badge_cell(exceeded ? section::Tone::kBad : section::Tone::kGood,
                                            exceeded ? "exceeded" : "kept")});
  }
  return table.html();
}

std::string candidates_chart(const json& document) {
  html::BarChart chart{"Time of a step", "of each candidate that ran", html::Unit::kSeconds, {}};
  std::size_t style = 0;
  for (const json& row : document::list_in(document, "candidates")) {
    const auto seconds = document::number_in(row, "step_seconds");
    if (seconds) {
      const char* note = document::flag_in(row, "simulated") ? " (simulated: says nothing about a Mac)" : "";
      chart.rows.push_back({document::words_in(row, "name") + note, {{"", *seconds, style}}});
    }
    ++style;
  }
  return html::draw(chart);
}

std::string candidates_table(const json& document) {
  section::Table table("Candidates", {"candidate", "ran", "#step", "measured on", "note"});
  for (const json& row : document::list_in(document, "candidates")) {
    const bool ran = document::flag_in(row, "ran");
    table.add(
        {section::text_cell(document::words_in(row, "name")),
         section::badge_cell(ran ? section::Tone::kGood : section::Tone::kPlain, ran ? "ran" : "not run"),
         section::number_cell(document::number_in(row, "step_seconds"), html::Unit::kSeconds),
         ran ? (document::flag_in(row, "simulated") ? section::badge_cell(section::Tone::kClose, "simulated device")
                                                    : section::text_cell("this machine"))
             : section::text_cell(""),
         section::text_cell(document::words_in(row, "note"))});
  }
  return table.html();
}

std::string holding_back_table(const json& document) {
  section::Table table("Operators that hold it back", {"operator", "#seconds", "reason"});
  for (const json& row : document::list_in(document, "holding_back")) {
    table.add({section::code_cell(document::words_in(row, "operator")),
               section::number_cell(document::number_in(row, "seconds"), html::Unit::kSeconds),
               section::text_cell(document::words_in(row, "reason"))});
  }
  table.sort_by(1);
  return table.html();
}

std::string symptoms_table(const json& document) {
  section::Table table("Symptoms", {"applies", "symptom", "hypothesis", "action", "evidence"});
  for (const json& row : document::list_in(document, "symptoms")) {
    const bool applies = document::flag_in(row, "applies");
    table.add({section::badge_cell(applies ? section::Tone::kBad : section::Tone::kPlain, applies ? "applies" : "no"),
               section::text_cell(document::words_in(row, "symptom")),
               section::text_cell(document::words_in(row, "hypothesis")),
               section::text_cell(document::words_in(row, "action")),
               section::text_cell(document::words_in(row, "evidence"))});
  }
  return table.html();
}

std::string rejected_table(const json& document) {
  section::Table table("Rejected hypotheses", {"hypothesis", "why not", "when"});
  for (const json& row : document::list_in(document, "rejected")) {
    table.add({section::text_cell(document::words_in(row, "text")), section::text_cell(document::words_in(row, "why")),
               section::text_cell(document::words_in(row, "at"))});
  }
  return table.html();
}

}  // namespace

std::string decide_section(const section::ReportRuns& runs) {
  return section::beside(runs, [](const section::ReportRun& run) {
    const json& document = run.document;
    return decision_card(document) +
           section::titled("Candidates", candidates_chart(document) + candidates_table(document)) +
           section::titled("Thresholds", thresholds_table(document)) +
           section::titled("Operators that hold it back", holding_back_table(document)) +
           section::titled("Symptoms", symptoms_table(document)) +
           section::titled("Rejected hypotheses", rejected_table(document)) +
           section::titled("Notes", section::bullets(document::list_in(document, "notes")));
  });
}

}  // namespace anymps::lab::runbook::decide
