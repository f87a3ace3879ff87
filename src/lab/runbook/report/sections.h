// The sections of the report that are no verb's own, and what each verb's document comes to.
#pragma once

#include <string>

#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::report {

std::string handoff_section(const section::ReportRuns& runs);
// Of a command that is not known here: all its fields.
std::string other_section(const section::ReportRuns& runs);

// What a document comes to, in one line; empty where there is none.
std::string headline(const nlohmann::json& document);

// The circumstances of all runs, one column each, those first that every figure needs beside it.
std::string facts_section(const section::ReportRuns& runs);

}  // namespace anymps::lab::runbook::report
