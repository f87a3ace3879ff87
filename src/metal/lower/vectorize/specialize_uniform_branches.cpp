// "if (position < count) ...": most groups of lanes take one side as a whole. That side becomes a copy of its own, in
// which nobody has to ask who takes part (specialize_uniform_branches).
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/vectorize/block_copies.h"
#include "metal/lower/vectorize/canonicalize.h"

namespace anymps::metal::lower::vectorize {
namespace {

// Longer sides are not worth having twice.
constexpr std::size_t kLongestSide = 150;

using Blocks = llvm::SmallSetVector<llvm::BasicBlock*, 8>;

// What is run of one side before the sides meet. Empty where the side is none of its own.
Blocks side_of(llvm::BasicBlock* branch, llvm::BasicBlock* first, const llvm::BasicBlock* meeting) {
  Blocks blocks;
  if (first == meeting || first->getSinglePredecessor() != branch) return {};
  blocks.insert(first);
  std::size_t size = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    llvm::BasicBlock* block = blocks[i];
    size += block->size();
    if (size > kLongestSide || llvm::succ_empty(block) || builtins::waits_for_threadgroup(*block)) return {};
    for (llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == branch) return {};
      if (next != meeting) blocks.insert(next);
    }
  }
  for (llvm::BasicBlock* block : blocks) {
    if (block == first) continue;
    for (llvm::BasicBlock* before : llvm::predecessors(block)) {
      if (!blocks.contains(before)) return {};
    }
  }
  return blocks;
}

class Sharer {
 public:
  Sharer(const Thread& thread, const Divergence& divergence, std::size_t most)
      : function_(*thread.function), divergence_(divergence), most_(most) {}

  bool run() {
    for (llvm::BasicBlock& block : function_) {
      if (divergence_.branches_apart(&block) && divergence_.by_position(branch_of(&block)->getCondition())) {
        branches_.push_back(&block);
      }
    }
    // Sides without branches are what a kernel's author means to be fast, and come first.
    for (const bool straight : {true, false}) share_all(straight);
    return grown_ != 0;
  }

 private:
  void share_all(bool straight) {
    // Copies of branches come behind them: once those outside are agreed on, lanes may agree on those inside too.
    for (std::size_t i = 0; i < branches_.size(); ++i) {
      if (apart_.contains(branches_[i])) continue;
      for (const unsigned which : {0U, 1U}) {
        const llvm::BranchInst* branch = branch_of(branches_[i]);
        if (branch->getSuccessor(which)->getSingleSuccessor() == nullptr ? straight : !straight) continue;
        if (likely(branch->getCondition(), which == 0)) branches_[i] = share(branches_[i], which);
      }
    }
  }

  static llvm::BranchInst* branch_of(llvm::BasicBlock* block) {
    return llvm::cast<llvm::BranchInst>(block->getTerminator());
  }

  // Returns the block that ends in the branch now.
  llvm::BasicBlock* share(llvm::BasicBlock* block, unsigned which) {
    const llvm::PostDominatorTree tree(function_);
    const llvm::DomTreeNode* after = tree.getNode(block)->getIDom();
    llvm::BasicBlock* meeting = after != nullptr ? after->getBlock() : nullptr;
    if (meeting == nullptr) return block;
    llvm::BranchInst* branch = branch_of(block);
    const Blocks side = side_of(block, branch->getSuccessor(which), meeting);
    std::size_t size = 0;
    for (const llvm::BasicBlock* part : side) size += part->size();
    if (side.empty() || grown_ + size > most_) return block;
    grown_ += size;

    const Copies copies(side.getArrayRef());
    for (llvm::BasicBlock* part : side) {
      if (!llvm::is_contained(branches_, part)) continue;
      apart_.insert(part);
      branches_.push_back(copies.of(part));
    }
    for (llvm::PHINode& phi : meeting->phis()) {
      for (llvm::BasicBlock* part : side) {
        const int index = phi.getBasicBlockIndex(part);
        if (index >= 0) phi.addIncoming(copies.of(phi.getIncomingValue(static_cast<unsigned>(index))), copies.of(part));
      }
    }

    llvm::BasicBlock* parting = block->splitBasicBlock(branch, "parting");
    block->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> b(block);
    llvm::Value* condition = branch->getCondition();
    if (which == 1) condition = b.CreateNot(condition);
    llvm::BasicBlock* copy = copies.of(side[0]);
    b.CreateCondBr(ask_lanes(b, condition), copy, parting);
    for (llvm::PHINode& phi : copy->phis()) phi.replaceIncomingBlockWith(parting, block);
    return parting;
  }

  // Whether it may well be that all lanes find `condition` to be `truth`. Threads count up to a bound: those behind it
  // are few. Of two numbers that differ from lane to lane, one lane's may be equal, but hardly all.
  bool likely(const llvm::Value* condition, bool truth) const {
    using namespace llvm::PatternMatch;
    if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition)) {
      llvm::CmpInst::Predicate predicate = truth ? compare->getPredicate() : compare->getInversePredicate();
      const bool swapped = divergence_.uniform(compare->getOperand(0));
      if (swapped) predicate = llvm::CmpInst::getSwappedPredicate(predicate);
      if (compare->isEquality()) return predicate == llvm::CmpInst::ICMP_NE;
      const bool less = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
      return less || llvm::isa<llvm::Constant>(compare->getOperand(swapped ? 0 : 1));
    }
    const llvm::Value* left = nullptr;
    const llvm::Value* right = nullptr;
    if (match(condition, m_Not(m_Value(left)))) return likely(left, !truth);
    const bool both = match(condition, m_LogicalAnd(m_Value(left), m_Value(right)));
    if (!both && !match(condition, m_LogicalOr(m_Value(left), m_Value(right)))) return true;
    return both == truth ? likely(left, truth) && likely(right, truth) : likely(left, truth) || likely(right, truth);
  }

  llvm::Function& function_;
  const Divergence& divergence_;
  const std::size_t most_;
  llvm::SmallVector<llvm::BasicBlock*> branches_;        // by position
  llvm::SmallPtrSet<const llvm::BasicBlock*, 8> apart_;  // within sides that are run by some lanes
  std::size_t grown_ = 0;
};

}  // namespace

bool specialize_uniform_branches(const Thread& thread, const Divergence& divergence, std::size_t most) {
  return Sharer(thread, divergence, most).run();
}

}  // namespace anymps::metal::lower::vectorize
