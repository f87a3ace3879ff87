// The documents of `anymps log` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/terminal.h"

namespace anymps::lab {

// {"logbook", "runs": [...]}: newest first, a line each.
std::string log_list_screen(const nlohmann::json& document, const Terminal& terminal);
// {"run": a run with its samples, "parts": [names], "notes": [...]}: every field.
std::string log_show_screen(const nlohmann::json& document, const Terminal& terminal);
// What log_diff() made.
std::string log_diff_screen(const nlohmann::json& document, const Terminal& terminal);
// {"notes": [{"at", "run", "kind", "text", "why"}]}.
std::string log_notes_screen(const nlohmann::json& document, const Terminal& terminal);

}  // namespace anymps::lab
