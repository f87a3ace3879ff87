// The document of `anymps sweep` for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lab/base/terminal.h"

namespace anymps::lab::runbook::sweep {

std::string sweep_screen(const nlohmann::json& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::sweep
