// The section of `anymps parity` in the report.
#pragma once

#include <string>

#include "lab/runbook/parity/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::parity {

std::string parity_section(const section::DocumentRuns<ParityDocument>& runs);

}  // namespace anymps::lab::runbook::parity
