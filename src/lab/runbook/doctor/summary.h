// What the gates come to.
#pragma once

#include <string>

#include "lab/runbook/doctor/document.h"

namespace anymps::lab::runbook::doctor {

// In one line; empty where there is nothing to say.
std::string doctor_headline(const DoctorDocument& document);

}  // namespace anymps::lab::runbook::doctor
