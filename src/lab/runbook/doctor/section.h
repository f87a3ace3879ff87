// The section of `anymps doctor` in the report.
#pragma once

#include <string>

#include "lab/runbook/doctor/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::doctor {

std::string doctor_section(const section::DocumentRuns<DoctorDocument>& runs);

}  // namespace anymps::lab::runbook::doctor
