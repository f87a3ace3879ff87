// What the passes of lowering do to a kernel, as LLVM IR and as times.
#pragma once

#include <span>
#include <string>

#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// Each option is one of
//   simd   coroutines   validate     as which engine lowers; without one, as a work-item loop or coroutines
//   stop-after=PASS                  the module as that pass leaves it
//   print-after=PASS, print-after=all
//   time-passes                      behind the module, as comments
// Passes have the names of lower/support/passes.def. Without print-after the answer is the module after the last pass.
// Throws RequestError, also for a pass that this kernel does not come to, AirError or pipeline::KernelError.
std::string lowered_text(const library::FunctionEntry& function, std::span<const std::string> options);

}  // namespace anymps::metal::tool
