// Which memory an address may point into.
#pragma once

#include <llvm/ADT/SmallVector.h>

namespace llvm {
class Argument;
class Value;
}  // namespace llvm

namespace anymps::metal::lower::transform {

struct MemoryOrigins {
  llvm::SmallVector<const llvm::Argument*, 2> arguments;
  llvm::SmallVector<unsigned, 2> variables;  // of a threadgroup, by their places in the layout
  bool global = false;                       // a constant of the module
  bool unknown = false;                      // also a thread's own variable
};

// Of a kernel whose threadgroup variables are placed (threadgroup_variables.h).
MemoryOrigins memory_origins_of(const llvm::Value* address);

}  // namespace anymps::metal::lower::transform
