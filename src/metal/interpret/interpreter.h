// An engine without a compiler: it walks a kernel's AIR, one threadgroup after the other, the lanes of a simdgroup in
// lockstep. Slow, and written apart from the lowering and its meeting points, to be a second opinion of them.
#pragma once

#include <memory>

#include "metal/pipeline.h"

namespace anymps::metal::interpret {

// Throws engine::KernelError or AirError; what it does not know it names.
std::shared_ptr<Pipeline> make_interpreter(const FunctionEntry& function, const lower::ConstantValues& constants);

}  // namespace anymps::metal::interpret
