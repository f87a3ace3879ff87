// A kernel whose threads do not wait for one another, as a loop over the threads of a threadgroup.
#pragma once

#include <span>

#include "metal/lower/support/kernel_parameter.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace anymps::metal::lower::workgroup {

// The last parameter of `kernel` is the threadgroup's memory; `parameters` describes the others. The kernel is used up.
// run(bindings, geometry, x, y, z, memory).
void make_work_item_loop(llvm::Module& module, llvm::Function* kernel, std::span<const support::Parameter> parameters);

// Loads of scalars passed by reference, which do not change while a kernel runs, are marked as such.
void mark_invariant_loads(llvm::Function& kernel, std::span<const support::Parameter> parameters);

}  // namespace anymps::metal::lower::workgroup
