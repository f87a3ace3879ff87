// A run's trace on a terminal: what the device was busy with, what the host called and where it waited.
#pragma once

#include <string>
#include <vector>

#include "lab/terminal.h"
#include "lab/trace_reader.h"

namespace anymps::lab {

std::string trace_screen(const std::vector<TraceFile>& traces, const Terminal& terminal);

}  // namespace anymps::lab
