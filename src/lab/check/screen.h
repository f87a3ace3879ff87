// The report of `anymps check` on a terminal: the verdict, then each rule that found something, with its places.
#pragma once

#include <string>

#include "lab/check_report.h"
#include "lab/terminal.h"

namespace anymps::lab {

std::string check_screen(const CheckReport& report, const Terminal& terminal);

}  // namespace anymps::lab
