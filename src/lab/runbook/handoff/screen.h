// The screens of `anymps handoff`, each drawn from its document.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::handoff {

std::string pack_screen(const nlohmann::json& document, const base::Terminal& terminal);
std::string verify_screen(const nlohmann::json& document, const base::Terminal& terminal);
std::string smoke_screen(const nlohmann::json& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::handoff
