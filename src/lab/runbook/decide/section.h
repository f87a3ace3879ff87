// The section of `anymps decide` in the report.
#pragma once

#include <string>

#include "lab/runbook/decide/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::decide {

std::string decide_section(const section::DocumentRuns<DecideDocument>& runs);

}  // namespace anymps::lab::runbook::decide
