// The document of `anymps profile` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/profile/document.h"

namespace anymps::lab::runbook::profile {

std::string profile_screen(const ProfileDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::profile
