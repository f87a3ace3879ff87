// 8x8 matrices of a simdgroup, as the part of them that one thread owns.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// AIR types an 8x8 matrix as 64 elements, of which a thread owns two. Makes them two; false, with the reason, where a
// value is used in a way that this does not know.
bool narrow_matrices(llvm::Function& function, const char*& reason);

}  // namespace anymps::metal::lower::transform
