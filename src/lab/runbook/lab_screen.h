// The screens of the runbook's commands, each drawn from the command's document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/terminal.h"

namespace anymps::lab {

std::string sweep_screen(const nlohmann::json& document, const Terminal& terminal);
std::string plateau_screen(const nlohmann::json& document, const Terminal& terminal);
std::string profile_screen(const nlohmann::json& document, const Terminal& terminal);
std::string decide_screen(const nlohmann::json& document, const Terminal& terminal);

}  // namespace anymps::lab
