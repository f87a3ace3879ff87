#include "metal/lower/workgroup/canonical_latches.h"

#include <llvm/Transforms/Utils/BasicBlockUtils.h>

namespace anymps::metal::lower::workgroup {

void canonicalize_latches(llvm::Function& function,
                          llvm::function_ref<bool(const llvm::Loop& loop, const llvm::DominatorTree& tree)> which,
                          llvm::function_ref<void(llvm::BasicBlock& round)> made) {
  llvm::SmallVector<llvm::BasicBlock*> headers;
  {
    const llvm::DominatorTree tree(function);
    const llvm::LoopInfo loops(tree);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      if (which(*loop, tree)) headers.push_back(loop->getHeader());
    }
  }
  for (llvm::BasicBlock* header : headers) {
    const llvm::DominatorTree tree(function);
    const llvm::LoopInfo loops(tree);
    llvm::SmallVector<llvm::BasicBlock*> latches;
    loops.getLoopFor(header)->getLoopLatches(latches);
    made(*llvm::SplitBlockPredecessors(header, latches, ".round"));
  }
}

}  // namespace anymps::metal::lower::workgroup
