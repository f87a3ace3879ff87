// The screens of `anymps handoff`, each drawn from its document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/terminal.h"

namespace anymps::lab {

std::string pack_screen(const nlohmann::json& document, const Terminal& terminal);
std::string verify_screen(const nlohmann::json& document, const Terminal& terminal);
std::string smoke_screen(const nlohmann::json& document, const Terminal& terminal);

}  // namespace anymps::lab
