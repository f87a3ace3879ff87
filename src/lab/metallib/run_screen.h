// What a kernel that was launched from the command line did, for a person.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::metallib {

// From the JSON of `anymps metal run`.
std::string metal_run_screen(const nlohmann::json& run, const base::Terminal& terminal);

// The texts of the sanitiser's reports; they have lines of their own.
std::string report_texts(const nlohmann::json& reports);

}  // namespace anymps::lab::metallib
