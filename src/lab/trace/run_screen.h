// The one screen at the end of a run.
#pragma once

#include <string>

#include "lab/base/terminal.h"
#include "lab/trace/run_summary.h"

namespace anymps::lab::trace {

std::string summary_screen(const RunReport& report, const base::Terminal& terminal);

// Its lines about what ran, how it ended and on what, which other screens show too.
std::string command_text(const RunSummary& run);
std::string ended_text(const RunSummary& run);
std::string device_text(const RunSummary& run);

}  // namespace anymps::lab::trace
