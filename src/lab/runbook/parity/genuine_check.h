// Apple's own kernels, out of PyTorch's macOS wheel, run on the device that anymps provides: the one thing here that
// says what a Mac computes. For the elementwise operators that a script used, on values that its layers had.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/runbook/parity/values.h"
#include "lab/trace/reader.h"

namespace anymps::lab::runbook::parity {

// The names of the operators that were called, each once; they are in the traces where ANYMPS_TRACE_CALLS=1.
nlohmann::json operators_in(const std::vector<trace::TraceFile>& traces);

// "rows" ("operator", "kernel", "elements", "max_ulps", "max_relative", "not_finite") and "notes", sentences that say
// why there are none. `folder` holds the libraries, or is empty; `python` are the words that start the user's.
nlohmann::json check_genuine_kernels(const std::string& folder, const std::vector<std::string>& python,
                                     const nlohmann::json& operators, const KeptRun& run);

}  // namespace anymps::lab::runbook::parity
