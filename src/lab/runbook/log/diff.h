// Two runs of the logbook held against each other: what changed, and what of that could explain their figures.
#pragma once

#include "lab/runbook/log/document.h"

namespace anymps::lab::runbook::log {

// The document but for its head.
DiffDocument log_diff(const RunWithSamples& before, const RunWithSamples& after);

}  // namespace anymps::lab::runbook::log
