// The documents of `anymps log` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::logbook {

// {"logbook", "runs": [...]}: newest first, a line each.
std::string log_list_screen(const nlohmann::json& document, const base::Terminal& terminal);
// {"run": a run with its samples, "parts": [names], "notes": [...]}: every field.
std::string log_show_screen(const nlohmann::json& document, const base::Terminal& terminal);
// What log_diff() made.
std::string log_diff_screen(const nlohmann::json& document, const base::Terminal& terminal);
// {"notes": [{"at", "run", "kind", "text", "why"}]}.
std::string log_notes_screen(const nlohmann::json& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::logbook
