// A Metal library's functions for a person.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lab/terminal.h"

namespace anymps::lab {

// From the JSON of `anymps metal list`: a block for each function, its arguments one a line.
std::string metal_screen(const nlohmann::json& library, const Terminal& terminal);

// Texts out of a library end up on a terminal; they must not move its cursor.
std::string on_one_line(std::string_view text);

}  // namespace anymps::lab
