// Puts the values of function constants into a module.
#pragma once

#include "metal/abi/constant_values.h"

namespace llvm {
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

void set_function_constants(llvm::Module& module, const abi::ConstantValues& values);

}  // namespace anymps::metal::lower::transform
