// Kernels as AIR has them: a function whose parameters are pointers and places in the launch, with metadata that says
// which. It calls the function that Clang made of the source.
#pragma once

#include "metal/frontend/sema/kernel_declarations.h"

namespace anymps::metal::frontend::emit {

struct ModuleVersion {
  unsigned metal = 400;  // as __METAL_VERSION__
  bool fast_math = false;
};

void add_entries(llvm::Module& module, const sema::Declarations& declarations, const ModuleVersion& version);

}  // namespace anymps::metal::frontend::emit
