// The answers of a SizeReport on a terminal: one bar a Mac.
#pragma once

#include <string>

#include "lab/size_report.h"
#include "lab/terminal.h"

namespace anymps::lab {

std::string size_screen(const SizeReport& report, const Terminal& terminal);

}  // namespace anymps::lab
