// The section of `anymps parity` in the report.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::parity {

std::string parity_section(const section::ReportRuns& runs);

}  // namespace anymps::lab::runbook::parity
