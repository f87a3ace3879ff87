// Variables of a thread whose size a kernel asks for when it runs: tensors and cooperative tensors.
#pragma once

#include <string>

namespace llvm {
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// Puts the sizes in place, now that the functions that say them have bodies. Returns why not.
std::string fix_variable_sizes(llvm::Module& module);

}  // namespace anymps::metal::lower::transform
