// The section of `anymps plateau` in the report.
#pragma once

#include <string>

#include "lab/runbook/plateau/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::plateau {

std::string plateau_section(const section::DocumentRuns<PlateauDocument>& runs);

}  // namespace anymps::lab::runbook::plateau
