// Reads, lowers and compiles kernels, and says how each went.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// {"kernels": [{"name", "route": "thread loop" or "coroutines", "ms", "bytes"} or {"name", "refusal"}], "peak_kib"}:
// see docs/cli.md. "ms" is a thread's own time, so that other work on the machine does not show. No cache is looked at.
// With `simd` also for many lanes at once: "simd": {"ms", "bytes"} and, where it was declined, "declined".
std::string verify_as_json(std::span<const library::FunctionEntry> functions, unsigned jobs, bool simd);

}  // namespace anymps::metal::tool
