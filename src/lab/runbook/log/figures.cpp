#include "lab/runbook/log/figures.h"

#include <utility>

#include "lab/runbook/document/fields.h"
#include "lab/runbook/verbs/verbs.h"

namespace anymps::lab::runbook::log {

using document::FigureKind;

std::vector<document::Figure> run_figures(const logbook::LoggedRun& run) {
  std::vector<document::Figure> figures;
  if (const verbs::Verb* verb = verbs::verb_named(run.verb)) figures = verb->figures(run.document);
  const auto add = [&figures](const nlohmann::json& object, const char* name, document::FigureKind kind) {
    if (const auto value = document::number_in(object, name)) figures.push_back({name, "", kind, *value, {}, {}});
  };
  add(run.document, "samples_per_second", document::FigureKind::kRate);
  add(run.document, "step_seconds", document::FigureKind::kSeconds);
  add(run.facts, "peak_bytes", document::FigureKind::kBytes);
  return figures;
}

}  // namespace anymps::lab::runbook::log
