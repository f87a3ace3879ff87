// What the memory of a run says against its program: growth, fragments, and whether it fits the Mac.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/check/findings.h"
#include "lab/trace/reader.h"

namespace anymps::lab::check {

// Of the process that held the most; processes do not share a limit.
struct CheckMemory {
  std::uint64_t tensor_bytes = 0;  // these three: peaks
  std::uint64_t block_bytes = 0;   // tensors and temporaries: what the limit is held against
  std::uint64_t driver_bytes = 0;
  std::uint64_t limit_bytes = 0;  // at which PyTorch refuses by default, or where the program put it; 0: not known
  std::uint64_t recommended_bytes = 0;  // Metal's working set; 0: not known
};

CheckMemory check_memory(const std::vector<trace::TraceFile>& traces);

std::vector<Finding> memory_findings(const std::vector<trace::TraceFile>& traces, const CheckMemory& memory);

struct Growth {
  double bytes_each = 0;  // a step
  std::size_t first = 0;  // the steps that were looked at, those of the warm-up left out
  std::size_t last = 0;

  std::uint64_t total() const;
};

// Whether a series keeps growing: by least squares, above the noise, and still through its last third, because a
// program that fills a cache reaches a plateau. Nothing for fewer than `fewest` values after the warm-up.
std::optional<Growth> steady_growth(std::span<const std::uint64_t> bytes, std::size_t warm_up, std::size_t fewest);

}  // namespace anymps::lab::check
