// The section of `anymps decide` in the report.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::decide {

std::string decide_section(const section::ReportRuns& runs);

}  // namespace anymps::lab::runbook::decide
