// The trace's clock and PyTorch's, which is the time since 1970.
#pragma once

#include <chrono>
#include <cstdint>

#include "gpu/trace/trace.h"

namespace anymps::backend::observe {

// What is added to a time of the trace to get PyTorch's, in ns. Both clocks are read: ask once for times that belong
// together.
inline std::int64_t since_1970_minus_trace_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() -
         static_cast<std::int64_t>(gpu::trace::Trace::now_ns());
}

}  // namespace anymps::backend::observe
