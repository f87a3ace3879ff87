// The figures of a logged run that can be held against those of another one.
#pragma once

#include <vector>

#include "lab/runbook/document/figure.h"
#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::log {

// From the run's document, whichever verb wrote it, and from its facts.
std::vector<document::Figure> run_figures(const logbook::LoggedRun& run);

}  // namespace anymps::lab::runbook::log
