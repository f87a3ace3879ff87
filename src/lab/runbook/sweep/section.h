// The section of `anymps sweep` in the report.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"
#include "lab/runbook/sweep/document.h"

namespace anymps::lab::runbook::sweep {

std::string sweep_section(const section::DocumentRuns<SweepDocument>& runs);

}  // namespace anymps::lab::runbook::sweep
