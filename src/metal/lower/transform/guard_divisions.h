// Integer division with defined results.
#pragma once

namespace llvm {
class Module;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// No division of integers stops the process, whatever its operands are.
void guard_divisions(llvm::Module& module);

}  // namespace anymps::metal::lower::transform
