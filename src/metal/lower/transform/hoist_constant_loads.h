// When a thread reads constant memory.
#pragma once

namespace llvm {
class Function;
}

namespace anymps::metal::lower::transform {

// Moves loads of constant memory that every thread does in front of the first cooperative operation.
//
// What lies there does not change while a kernel runs, so an Apple GPU need not wait with them. Inductor's kernels
// count on it: a batch norm binds its running mean as constant memory and as an output too, and every thread of a
// threadgroup reads the one and writes the other, with no barrier between.
void hoist_constant_loads(llvm::Function& kernel);

}  // namespace anymps::metal::lower::transform
