// A thread's place, where a kernel asks for it by a function instead of a parameter: deep in functions that are called.
#pragma once

#include <vector>

#include "metal/lower/support/kernel_parameter.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// Behind flattening. Returns the kernel, which is a new one where it needed parameters; `parameters` grows by them.
llvm::Function* add_thread_indices(llvm::Module& module, llvm::Function* kernel,
                                   std::vector<support::Parameter>& parameters);

}  // namespace anymps::metal::lower::transform
