#include "lab/runbook/decide/screen.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "lab/base/text_wrap.h"
#include "lab/runbook/screen/parts.h"

namespace anymps::lab::runbook::decide {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string wrapped_at(std::string_view indent, const std::string& text, const base::Terminal& terminal) {
  return std::string(indent) + base::wrapped(text, terminal.width - indent.size(), indent);
}

std::string decision_lines(const Decision& decision, const base::Terminal& terminal) {
  std::string text = fmt::format("decision: {}\n", terminal.paint("1", document::word_of(decision.outcome)));
  text += wrapped_at("  ", decision.why, terminal);
  for (const std::string& option : decision.options) text += "  - " + option + "\n";
  return text;
}

std::string tables(const Grounds& grounds) {
  Rows rows = {{"threshold", "measured", "limit", ""}};
  for (const Threshold& row : grounds.thresholds) {
    rows.push_back({row.name, screen::percent_text(row.value), screen::percent_text(row.limit),
                    !row.value     ? "not judged"
                    : row.exceeded ? "exceeded"
                                   : ""});
  }
  std::string text = "\n" + screen::columns(rows);
  rows = {{"candidate", "a step", ""}};
  for (const Candidate& row : grounds.candidates) {
    rows.push_back({std::string(document::word_of(row.place)), screen::seconds_text(row.step_seconds), row.note});
  }
  return text + "\n" + screen::columns(rows);
}

std::string holding_back_lines(const Grounds& grounds) {
  if (grounds.holding_back.empty()) return {};
  std::string text = "\n  operators that hold it back\n";
  for (const HeldBack& row : grounds.holding_back) text += fmt::format("  - {}: {}\n", row.name, row.reason);
  return text;
}

std::string symptom_lines(const Grounds& grounds, const base::Terminal& terminal) {
  std::string text;
  for (const Symptom& row : grounds.symptoms) {
    text += fmt::format("  [{}] {}\n", row.applies ? terminal.paint("31", "x") : " ", row.symptom);
    if (!row.applies) continue;
    text +=
        wrapped_at("      ", fmt::format("{}. Suspect {}: {}.", row.evidence, row.hypothesis, row.action), terminal);
  }
  return text;
}

std::string rejected_lines(const DecideDocument& document, const base::Terminal& terminal) {
  if (document.rejected.empty()) return {};
  std::string text = "\n  rejected before\n";
  for (const RejectedHypothesis& row : document.rejected) {
    text += wrapped_at("    ", fmt::format("{}: {}", row.text, row.why), terminal);
  }
  return text;
}

}  // namespace

std::string decide_screen(const DecideDocument& document, const base::Terminal& terminal) {
  const Grounds grounds = document.grounds.value_or(Grounds{});
  std::string text = decision_lines(document.decision, terminal) + tables(grounds) + holding_back_lines(grounds) +
                     "\n" + symptom_lines(grounds, terminal);
  if (document.stop && document.stop->rule) text += "\n" + wrapped_at("  ", document.stop->rule->why, terminal);
  return text + rejected_lines(document, terminal) + screen::notes_text(grounds.notes, terminal);
}

}  // namespace anymps::lab::runbook::decide
