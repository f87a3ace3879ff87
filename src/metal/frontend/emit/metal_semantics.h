// What Clang's code says otherwise than Metal's: made Metal's, before anything optimises it.
#pragma once

namespace llvm {
class Module;
}

namespace anymps::metal::frontend::emit {

// - A number out of range converts to the nearest that there is: `fptosi` becomes "air.convert".
// - The distance of a shift counts modulo the width.
// - Threadgroup memory without an initialiser has no value.
// - What Clang leaves for linkers and annotations goes.
void conform(llvm::Module& module);

}  // namespace anymps::metal::frontend::emit
