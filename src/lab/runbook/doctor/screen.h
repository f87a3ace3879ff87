// The document of `anymps doctor` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::doctor {

std::string doctor_screen(const nlohmann::json& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::doctor
