// The document of `anymps doctor` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/doctor/document.h"

namespace anymps::lab::runbook::doctor {

std::string doctor_screen(const DoctorDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::doctor
