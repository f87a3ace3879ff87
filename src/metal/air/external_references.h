// What a module of AIR may refer to. Kernels are linked into the process that runs them, so that a name that nobody
// looks at could be any function of it.
#pragma once

#include <stdexcept>
#include <string_view>

namespace llvm {
class Module;
}  // namespace llvm

namespace anymps::metal::air {

struct ExternalReference : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Whether that is the name of a function of AIR, which modules declare and the GPU's driver has: `air.`, and those
// behind Metal 4's tensor operations.
bool is_external_function(std::string_view name);

// Throws ExternalReference unless the module refers to nothing but its own functions and variables, AIR's functions,
// and LLVM's intrinsics that only compute. Aliases, ifuncs, thread-local variables, assembly, calls by a pointer and
// bytes before a function's code are refused, too. It does not tell where pointers lead: see docs/security.md.
void refuse_external_references(const llvm::Module& module);

}  // namespace anymps::metal::air
