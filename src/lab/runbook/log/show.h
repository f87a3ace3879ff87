// A run of the logbook with all that belongs to it.
#pragma once

#include "lab/runbook/log/document.h"
#include "lab/runbook/logbook/logbook.h"

namespace anymps::lab::runbook::log {

// The document but for its head.
ShowDocument show_run(logbook::Logbook& logbook, RunWithSamples run);

}  // namespace anymps::lab::runbook::log
