#include <fmt/format.h>

#include "lab/markup.h"
#include "lab/runbook/document_fields.h"
#include "lab/runbook/report_sections.h"

namespace anymps::lab {
namespace {

using nlohmann::json;

std::string decision_card(const json& document) {
  const json& decision = object_in(document, "decision");
  std::string evidence;
  for (const json& one : list_in(document, "evidence")) {
    const std::string run = text_in(one, "run");
    evidence += fmt::format("<li>{}{}</li>\n", escaped(text_in(one, "text")),
                            run.empty() ? "" : fmt::format(" <span class=\"dim\">run {}</span>", escaped(run)));
  }
  if (!evidence.empty()) evidence = "<h4>Evidence</h4>\n<ul>\n" + evidence + "</ul>\n";
  return fmt::format("<div class=\"decision\"><span class=\"dim\">Decision</span><strong>{}</strong>{}{}</div>\n",
                     escaped(text_in(decision, "outcome")), paragraph(text_in(decision, "why")), evidence);
}

std::string thresholds_table(const json& document) {
  Table table("Thresholds", {"threshold", "#value", "#limit", "state"});
  for (const json& row : list_in(document, "thresholds")) {
    const auto value = number_in(row, "value");
    const bool exceeded = flag_in(row, "exceeded");
    table.add({text_cell(text_in(row, "name")), number_cell(value, Unit::kShare),
               number_cell(number_in(row, "limit"), Unit::kShare),
               !value ? badge_cell(Tone::kClose, "not judged")
                      : badge_cell(exceeded ? Tone::kBad : Tone::kGood, exceeded ? "exceeded" : "kept")});
  }
  return table.html();
}

std::string candidates_chart(const json& document) {
  BarChart chart{"Time of a step", "of each candidate that ran", Unit::kSeconds, {}};
  std::size_t style = 0;
  for (const json& row : list_in(document, "candidates")) {
    const auto seconds = number_in(row, "step_seconds");
    if (seconds) {
      const char* note = flag_in(row, "simulated") ? " (simulated: says nothing about a Mac)" : "";
      chart.rows.push_back({text_in(row, "name") + note, {{"", *seconds, style}}});
    }
    ++style;
  }
  return draw(chart);
}

std::string candidates_table(const json& document) {
  Table table("Candidates", {"candidate", "ran", "#step", "measured on", "note"});
  for (const json& row : list_in(document, "candidates")) {
    const bool ran = flag_in(row, "ran");
    table.add(
        {text_cell(text_in(row, "name")), badge_cell(ran ? Tone::kGood : Tone::kPlain, ran ? "ran" : "not run"),
         number_cell(number_in(row, "step_seconds"), Unit::kSeconds),
         ran ? (flag_in(row, "simulated") ? badge_cell(Tone::kClose, "simulated device") : text_cell("this machine"))
             : text_cell(""),
         text_cell(text_in(row, "note"))});
  }
  return table.html();
}

std::string holding_back_table(const json& document) {
  Table table("Operators that hold it back", {"operator", "#seconds", "reason"});
  for (const json& row : list_in(document, "holding_back")) {
    table.add({code_cell(text_in(row, "operator")), number_cell(number_in(row, "seconds"), Unit::kSeconds),
               text_cell(text_in(row, "reason"))});
  }
  table.sort_by(1);
  return table.html();
}

std::string symptoms_table(const json& document) {
  Table table("Symptoms", {"applies", "symptom", "hypothesis", "action", "evidence"});
  for (const json& row : list_in(document, "symptoms")) {
    const bool applies = flag_in(row, "applies");
    table.add({badge_cell(applies ? Tone::kBad : Tone::kPlain, applies ? "applies" : "no"),
               text_cell(text_in(row, "symptom")), text_cell(text_in(row, "hypothesis")),
               text_cell(text_in(row, "action")), text_cell(text_in(row, "evidence"))});
  }
  return table.html();
}

std::string rejected_table(const json& document) {
  Table table("Rejected hypotheses", {"hypothesis", "why not", "when"});
  for (const json& row : list_in(document, "rejected")) {
    table.add({text_cell(text_in(row, "text")), text_cell(text_in(row, "why")), text_cell(text_in(row, "at"))});
  }
  return table.html();
}

}  // namespace

std::string decide_section(const ReportRuns& runs) {
  return beside(runs, [](const ReportRun& run) {
    const json& document = run.document;
    return decision_card(document) + titled("Candidates", candidates_chart(document) + candidates_table(document)) +
           titled("Thresholds", thresholds_table(document)) +
           titled("Operators that hold it back", holding_back_table(document)) +
           titled("Symptoms", symptoms_table(document)) + titled("Rejected hypotheses", rejected_table(document)) +
           titled("Notes", bullets(list_in(document, "notes")));
  });
}

}  // namespace anymps::lab
