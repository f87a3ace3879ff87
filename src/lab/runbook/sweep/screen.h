// The document of `anymps sweep` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/sweep/document.h"

namespace anymps::lab::runbook::sweep {

std::string sweep_screen(const SweepDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::sweep
