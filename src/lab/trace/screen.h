// A run's trace on a terminal: what the device was busy with, what the host called and where it waited.
#pragma once

#include <string>

#include "lab/terminal.h"
#include "lab/trace_summary.h"

namespace anymps::lab {

std::string trace_screen(const TraceSummary& summary, const Terminal& terminal);

}  // namespace anymps::lab
