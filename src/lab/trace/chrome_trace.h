// A run's traces in the format of Chrome's tracing, which Perfetto and others open: each process with its threads, and
// the device as a track of its own in each. Under "otherData" are the measured or modelled figures
// (replayed_timeline.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lab/trace/reader.h"

namespace anymps::lab::trace {

// One clear sentence where it cannot be written; else nothing. What is there under that name is replaced as a whole.
std::string write_chrome_trace(const std::vector<TraceFile>& traces, const std::filesystem::path& path);

}  // namespace anymps::lab::trace
