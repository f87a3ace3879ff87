// What every thread of a threadgroup computes alike, computed once.
#pragma once

#include <llvm/IR/Function.h>

#include <span>

#include "metal/lower/support/kernel_parameter.h"

namespace anymps::metal::lower::support {
class PassRunner;
}

namespace anymps::metal::lower::transform {

// Behind a barrier that all threads pass, a loop that reads and depends on nothing but what they share, as a sum over
// an array in threadgroup memory does that each of them goes through, gives all the same: whoever comes first leaves
// the result in threadgroup memory for the others. A thread that writes what the loop reads would be a race with the
// others. `parameters` are the kernel's.
void run_uniform_loops_once(llvm::Function& kernel, std::span<const support::Parameter> parameters,
                            support::PassRunner& runner);

}  // namespace anymps::metal::lower::transform
