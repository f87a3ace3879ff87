// Code that counts on the lanes of a simdgroup going in step.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace anymps::metal::lower::transform {

// Puts a barrier of the simdgroup in front of an access that may meet what another lane has touched since the lanes
// met: a write behind a read, or a read behind a write. Metal promises nothing there, but on a GPU, whose lanes go in
// step, all have done the first access before one does the second. Threads that run one after another do it so, too,
// then.
void separate_simdgroup_hazards(llvm::Function& kernel);

}  // namespace anymps::metal::lower::transform
