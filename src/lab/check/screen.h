// The report of `anymps check` on a terminal: the verdict, then each rule that found something, with its places.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/check/report.h"

namespace anymps::lab::check {

std::string check_screen(const CheckReport& report, const base::Terminal& terminal);

}  // namespace anymps::lab::check
