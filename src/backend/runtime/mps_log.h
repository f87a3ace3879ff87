// PYTORCH_MPS_LOG_LEVEL: lines on standard error about what costs time or memory. Guides write of it; a Mac's PyTorch
// does not read it (docs/environment.md).
#pragma once

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <string_view>
#include <vector>

namespace anymps::backend::runtime {

enum class LogLevel : int {
  kFallbacks = 1,
  kWaits = 2,
  kAllocations = 3,  // each with those in front of it
};

// From the environment at first; 0 is silence. One relaxed load.
bool logs(LogLevel level) noexcept;
void set_log_level(int level) noexcept;

// Each is one line, with the line of the user's program where that is known.
void log_fallback(std::string_view name, const std::vector<c10::IValue>& arguments,
                  const std::vector<c10::IValue>& results);
void log_wait(std::string_view what);
void log_allocation(std::size_t bytes, std::size_t in_tensors);

}  // namespace anymps::backend::runtime
