// The document of anymps parity as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/terminal.h"

namespace anymps::lab {

std::string parity_screen(const nlohmann::json& document, const Terminal& terminal);

}  // namespace anymps::lab
