#include "lab/runbook/decide/section.h"

#include <fmt/format.h>

#include <string>

#include "lab/html/escape.h"

namespace anymps::lab::runbook::decide {
namespace {

std::string decision_card(const Decision& decision, const Grounds& grounds) {
  std::string evidence;
  for (const Evidence& one : grounds.evidence) {
    evidence += fmt::format("<li>{} <span class=\"dim\">run {}</span></li>\n", html::escaped(one.text), one.run);
  }
  if (!evidence.empty()) evidence = "<h4>Evidence</h4>\n<ul>\n" + evidence + "</ul>\n";
  return fmt::format("<div class=\"decision\"><span class=\"dim\">Decision</span><strong>{}</strong>{}{}</div>\n",
                     html::escaped(document::word_of(decision.outcome)), section::paragraph(decision.why), evidence);
}

std::string thresholds_table(const Grounds& grounds) {
  section::Table table("Thresholds", {"threshold", "#value", "#limit", "state"});
  for (const Threshold& row : grounds.thresholds) {
    table.add({section::text_cell(row.name), section::number_cell(row.value, html::Unit::kShare),
               section::number_cell(row.limit, html::Unit::kShare),
               !row.value ? section::badge_cell(section::Tone::kClose, "not judged")
                          : section::badge_cell(row.exceeded ? section::Tone::kBad : section::Tone::kGood,
                                                row.exceeded ? "exceeded" : "kept")});
  }
  return table.html();
}

std::string candidates_chart(const Grounds& grounds) {
  html::BarChart chart{"Time of a step", "of each candidate that ran", html::Unit::kSeconds, {}};
  std::size_t style = 0;
  for (const Candidate& row : grounds.candidates) {
    if (row.step_seconds) {
      const char* note = row.simulated ? " (simulated: says nothing about a Mac)" : "";
      chart.rows.push_back({std::string(document::word_of(row.place)) + note, {{"", *row.step_seconds, style}}});
    }
    ++style;
  }
  return html::draw(chart);
}

std::string candidates_table(const Grounds& grounds) {
  section::Table table("Candidates", {"candidate", "ran", "#step", "measured on", "note"});
  for (const Candidate& row : grounds.candidates) {
    const bool ran = row.ran();
    table.add({section::text_cell(document::word_of(row.place)),
               section::badge_cell(ran ? section::Tone::kGood : section::Tone::kPlain, ran ? "ran" : "not run"),
               section::number_cell(row.step_seconds, html::Unit::kSeconds),
               ran ? (row.simulated ? section::badge_cell(section::Tone::kClose, "simulated device")
                                    : section::text_cell("this machine"))
                   : section::text_cell(""),
               section::text_cell(row.note)});
  }
  return table.html();
}

std::string holding_back_table(const Grounds& grounds) {
  section::Table table("Operators that hold it back", {"operator", "#seconds", "reason"});
  for (const HeldBack& row : grounds.holding_back) {
    table.add({section::code_cell(row.name), section::number_cell(row.seconds, html::Unit::kSeconds),
               section::text_cell(row.reason)});
  }
  table.sort_by(1);
  return table.html();
}

std::string symptoms_table(const Grounds& grounds) {
  section::Table table("Symptoms", {"applies", "symptom", "hypothesis", "action", "evidence"});
  for (const Symptom& row : grounds.symptoms) {
    table.add(
        {section::badge_cell(row.applies ? section::Tone::kBad : section::Tone::kPlain, row.applies ? "applies" : "no"),
         section::text_cell(row.symptom), section::text_cell(row.hypothesis), section::text_cell(row.action),
         section::text_cell(row.evidence)});
  }
  return table.html();
}

std::string rejected_table(const DecideDocument& document) {
  section::Table table("Rejected hypotheses", {"hypothesis", "why not", "when"});
  for (const RejectedHypothesis& row : document.rejected) {
    table.add({section::text_cell(row.text), section::text_cell(row.why), section::text_cell(row.at)});
  }
  return table.html();
}

}  // namespace

std::string decide_section(const section::DocumentRuns<DecideDocument>& runs) {
  return section::beside(runs, [](const section::DocumentRun<DecideDocument>& run) {
    const DecideDocument& document = run.document;
    const Grounds grounds = document.grounds.value_or(Grounds{});
    return decision_card(document.decision, grounds) +
           section::titled("Candidates", candidates_chart(grounds) + candidates_table(grounds)) +
           section::titled("Thresholds", thresholds_table(grounds)) +
           section::titled("Operators that hold it back", holding_back_table(grounds)) +
           section::titled("Symptoms", symptoms_table(grounds)) +
           section::titled("Rejected hypotheses", rejected_table(document)) +
           section::titled("Notes", section::bullets(grounds.notes));
  });
}

}  // namespace anymps::lab::runbook::decide
