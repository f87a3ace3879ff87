// A Metal library's functions for a person.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::metallib {

// From the JSON of `anymps metal list`: a block for each function, its arguments one a line.
std::string metal_screen(const nlohmann::json& library, const base::Terminal& terminal);

}  // namespace anymps::lab::metallib
