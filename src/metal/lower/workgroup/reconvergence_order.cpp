// The scheduler lets the earliest cooperative call go first, so that lanes that diverged come together again
// (scheduler.h). This makes "earliest" mean it: a block that can lead to another lies before it, a loop's blocks lie
// before those behind the loop, and the lanes of a simdgroup begin a loop's next round together.
#include "metal/lower/workgroup/reconvergence_order.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Function.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/workgroup/canonical_latches.h"

namespace anymps::metal::lower::workgroup {
namespace {

// At what its simdgroup does together. Barriers of the threadgroup open only when nobody can move otherwise.
bool cooperative(const llvm::BasicBlock& block) {
  return llvm::any_of(block, [](const llvm::Instruction& instruction) {
    const llvm::CallInst* call = builtins::cooperative_call(instruction);
    return call != nullptr && !builtins::is_threadgroup_barrier(call->getCalledFunction()->getName());
  });
}

// Whether some lanes can begin the next iteration while others still wait at a cooperative call of this one.
bool can_run_ahead(const llvm::Loop& loop, const llvm::DominatorTree& tree) {
  llvm::SmallVector<llvm::BasicBlock*> latches;
  loop.getLoopLatches(latches);
  for (const llvm::BasicBlock* block : loop.blocks()) {
    if (!cooperative(*block)) continue;
    for (const llvm::BasicBlock* latch : latches) {
      if (!tree.dominates(block, latch)) return true;
    }
  }
  return false;
}

void meet_after_each_round(llvm::Function& function) {
  canonicalize_latches(function, can_run_ahead,
                       [](llvm::BasicBlock& round) { builtins::meet_simdgroup_before(*round.getTerminator()); });
}

class Placer {
 public:
  explicit Placer(llvm::Function& function) : tree_(function), loops_(tree_), order_(&function) {}

  void run() {
    place(nullptr);
    for (std::size_t i = 1; i < placed_.size(); ++i) placed_[i]->moveAfter(placed_[i - 1]);
  }

 private:
  // The blocks of a loop, or of the function; inner loops whole, where they begin.
  void place(const llvm::Loop* loop) {
    for (llvm::BasicBlock* block : order_) {
      if (seen_.contains(block) || (loop != nullptr && !loop->contains(block))) continue;
      const llvm::Loop* inner = loops_.getLoopFor(block);
      if (inner != loop && loops_.isLoopHeader(block)) {
        place(inner);
        continue;
      }
      seen_.insert(block);
      placed_.push_back(block);
    }
  }

  const llvm::DominatorTree tree_;
  const llvm::LoopInfo loops_;
  const llvm::ReversePostOrderTraversal<llvm::Function*> order_;
  llvm::SmallPtrSet<llvm::BasicBlock*, 32> seen_;
  llvm::SmallVector<llvm::BasicBlock*> placed_;
};

}  // namespace

void order_for_reconvergence(llvm::Function& kernel) {
  meet_after_each_round(kernel);
  Placer(kernel).run();
}

}  // namespace anymps::metal::lower::workgroup
