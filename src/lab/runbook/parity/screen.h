// The document of anymps parity as text.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/parity/document.h"

namespace anymps::lab::runbook::parity {

std::string parity_screen(const ParityDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::parity
