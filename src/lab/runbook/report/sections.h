// The sections of the report, one for each command of the runbook. Each draws what its document has and leaves out what
// it has not. Several runs stand side by side, with their curves in common charts above them.
#pragma once

#include <string>

#include "lab/runbook/report_parts.h"

namespace anymps::lab {

std::string doctor_section(const ReportRuns& runs);
std::string sweep_section(const ReportRuns& runs);
std::string plateau_section(const ReportRuns& runs);
std::string parity_section(const ReportRuns& runs);
std::string profile_section(const ReportRuns& runs);
std::string decide_section(const ReportRuns& runs);
std::string handoff_section(const ReportRuns& runs);
// Of a command that is not known here: all its fields.
std::string other_section(const ReportRuns& runs);

// What a document comes to, in one line; empty where there is none.
std::string headline(const nlohmann::json& document);

// The circumstances of all runs, one column each, those first that every figure needs beside it.
std::string facts_section(const ReportRuns& runs);

}  // namespace anymps::lab
