// The document of `anymps decide` for people.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/decide/document.h"

namespace anymps::lab::runbook::decide {

std::string decide_screen(const DecideDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::decide
