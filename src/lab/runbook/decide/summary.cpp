#include "lab/runbook/decide/summary.h"

namespace anymps::lab::runbook::decide {

using document::FigureKind;

std::string decide_headline(const DecideDocument& document) {
  return std::string(document::word_of(document.decision.outcome));
}

std::vector<document::Figure> decide_figures(const DecideDocument& document) {
  std::vector<document::Figure> figures;
  if (!document.grounds) return figures;
  for (const Candidate& candidate : document.grounds->candidates) {
    if (!candidate.ran()) continue;
    figures.push_back({"step_seconds",
                       std::string(document::word_of(candidate.place)),
                       FigureKind::kSeconds,
                       *candidate.step_seconds,
                       {},
                       {}});
  }
  return figures;
}

}  // namespace anymps::lab::runbook::decide
