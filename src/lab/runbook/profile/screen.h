// The document of `anymps profile` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::profile {

std::string profile_screen(const nlohmann::json& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::profile
