// "switch (i) { case 0: return polynomial(x, 0.7, ...); case 1: ... }", a hundred times: cases that compute the same of
// different constants are one, and the constants are in a table. Lanes that take different cases then go together.
#pragma once

namespace llvm {
class Module;
}

namespace anymps::metal::lower::transform {

void merge_switch_cases(llvm::Module& module);

}  // namespace anymps::metal::lower::transform
