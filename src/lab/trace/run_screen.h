// The one screen at the end of a run.
#pragma once

#include <string>

#include "lab/run_summary.h"
#include "lab/terminal.h"

namespace anymps::lab {

std::string summary_screen(const RunReport& report, const Terminal& terminal);

// Its lines about what ran, how it ended and on what, which other screens show too.
std::string command_text(const RunSummary& run);
std::string ended_text(const RunSummary& run);
std::string device_text(const RunSummary& run);

// "12.3 MiB". Binary units, as PyTorch's own messages have them.
std::string human_bytes(std::uint64_t bytes);

// "12.3 ms".
std::string human_seconds(double seconds);

}  // namespace anymps::lab
