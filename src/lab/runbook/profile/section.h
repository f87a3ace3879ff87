// The section of `anymps profile` in the report.
#pragma once

#include <string>

#include "lab/runbook/profile/document.h"
#include "lab/runbook/section/parts.h"

namespace anymps::lab::runbook::profile {

std::string profile_section(const section::DocumentRuns<ProfileDocument>& runs);

}  // namespace anymps::lab::runbook::profile
