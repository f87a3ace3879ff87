// The screens of `anymps handoff`, each drawn from its document.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/runbook/handoff/document.h"

namespace anymps::lab::runbook::handoff {

std::string pack_screen(const PackDocument& document, const base::Terminal& terminal);
std::string verify_screen(const VerifyDocument& document, const base::Terminal& terminal);
std::string smoke_screen(const SmokeDocument& document, const base::Terminal& terminal);

}  // namespace anymps::lab::runbook::handoff
