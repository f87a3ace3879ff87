// The sections of the report that are no verb's own.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::report {

// Of a command that is not known here: all its fields.
std::string other_section(const section::ReportRuns& runs);

// The circumstances of all runs, one column each, those first that every figure needs beside it.
std::string facts_section(const section::ReportRuns& runs);

}  // namespace anymps::lab::runbook::report
