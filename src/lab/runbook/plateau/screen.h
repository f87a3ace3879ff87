// The document of `anymps plateau` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/plateau/document.h"

namespace anymps::lab::runbook::plateau {

std::string plateau_screen(const PlateauDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::plateau
