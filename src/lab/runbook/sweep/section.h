// The section of `anymps sweep` in the report.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::sweep {

std::string sweep_section(const section::ReportRuns& runs);

}  // namespace anymps::lab::runbook::sweep
