// A run's trace on a terminal: what the device was busy with, what the host called and where it waited.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/trace/summary.h"

namespace anymps::lab::trace {

std::string trace_screen(const TraceSummary& summary, const base::Terminal& terminal);

}  // namespace anymps::lab::trace
