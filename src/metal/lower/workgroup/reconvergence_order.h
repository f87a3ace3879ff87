// The order of blocks in which lanes that diverged reconverge.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace anymps::metal::lower::workgroup {

// Orders the blocks such that lanes that diverged reconverge as early as they can, and no lane begins a loop's next
// iteration while others wait in this one.
void order_for_reconvergence(llvm::Function& kernel);

}  // namespace anymps::metal::lower::workgroup
