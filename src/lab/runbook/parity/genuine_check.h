// Apple's own kernels, out of PyTorch's macOS wheel, run on the device that anymps provides: the one thing here that
// says what a Mac computes. For the elementwise operators that a script used, on values that its layers had.
#pragma once

#include <string>
#include <vector>

#include "lab/runbook/parity/document.h"
#include "lab/runbook/parity/values.h"
#include "lab/trace/reader.h"

namespace anymps::lab::runbook::parity {

// The names of the operators that were called, each once; they are in the traces where ANYMPS_TRACE_CALLS=1.
std::vector<std::string> operators_in(const std::vector<trace::TraceFile>& traces);

struct GenuineCheck {
  std::vector<GenuineKernel> rows;
  std::vector<std::string> notes;  // sentences that say why there are none

  template <typename Fields, typename Self>
  static void describe(Fields& fields, Self& self) {
    fields("rows", self.rows);
    fields("notes", self.notes);
  }
};

// `folder` holds the libraries, or is empty; `python` are the words that start the user's.
GenuineCheck check_genuine_kernels(const std::string& folder, const std::vector<std::string>& python,
                                   const std::vector<std::string>& operators, const KeptRun& run);

}  // namespace anymps::lab::runbook::parity
