// The document of `anymps doctor` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/terminal.h"

namespace anymps::lab {

std::string doctor_screen(const nlohmann::json& document, const Terminal& terminal);

}  // namespace anymps::lab
