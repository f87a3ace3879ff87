// The answers of a SizeReport on a terminal: one bar a Mac.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/size/report.h"

namespace anymps::lab::size {

std::string size_screen(const SizeReport& report, const base::Terminal& terminal);

}  // namespace anymps::lab::size
