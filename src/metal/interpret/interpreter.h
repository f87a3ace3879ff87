// An engine without a compiler: it walks a kernel's AIR, one threadgroup after the other, the lanes of a simdgroup in
// lockstep. Slow, and written apart from the lowering and its cooperative calls, to be a second opinion of them.
#pragma once

#include <memory>

#include "metal/abi/constant_values.h"
#include "metal/library/metallib.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::interpret {

// Throws pipeline::KernelError or AirError; what it does not know it names.
std::shared_ptr<pipeline::Pipeline> make_interpreter(const library::FunctionEntry& function,
                                                     const abi::ConstantValues& constants);

}  // namespace anymps::metal::interpret
