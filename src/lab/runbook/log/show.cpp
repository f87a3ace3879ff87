#include "lab/runbook/log/show.h"

#include <utility>

#include "lab/runbook/log/figures.h"

namespace anymps::lab::runbook::log {

ShowDocument show_run(logbook::Logbook& logbook, RunWithSamples run) {
  ShowDocument document;
  document.run = std::move(run);
  const logbook::LoggedRun& logged = document.run.run;
  for (const auto& [name, result] : logbook.parts(logged.id)) document.parts.push_back(name);
  for (logbook::LoggedNote& note : logbook.notes()) {
    if (note.run == logged.id) document.notes.push_back(std::move(note));
  }
  document.figures = run_figures(logged);
  return document;
}

}  // namespace anymps::lab::runbook::log
