// "if (position < count) ...": most groups of lanes take one side as a whole. That side becomes a copy of its own, in
// which nobody has to ask who takes part (share_sides).
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "metal/lower/bodies.h"
#include "metal/lower/simd_prepare.h"

namespace anymps::metal::lower::simd {
namespace {

// Longer sides are not worth having twice, nor is a function that grows by more than that.
constexpr std::size_t kLongest = 150;
constexpr std::size_t kMostNew = 600;

using Blocks = llvm::SmallSetVector<llvm::BasicBlock*, 8>;

// Whether it may well be that all lanes find `condition`, which is by position, to be `truth`: that one of them is
// equal to something, but hardly all.
bool likely(const llvm::Value* condition, bool truth) {
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(condition)) {
    return !compare->isEquality() || (compare->getPredicate() == llvm::ICmpInst::ICMP_NE) == truth;
  }
  const llvm::Value* left = nullptr;
  const llvm::Value* right = nullptr;
  if (llvm::PatternMatch::match(condition, llvm::PatternMatch::m_Not(llvm::PatternMatch::m_Value(left)))) {
    return likely(left, !truth);
  }
  using llvm::PatternMatch::m_Value;
  if (llvm::PatternMatch::match(condition, llvm::PatternMatch::m_LogicalAnd(m_Value(left), m_Value(right)))) {
    return truth ? likely(left, truth) && likely(right, truth) : likely(left, truth) || likely(right, truth);
  }
  if (llvm::PatternMatch::match(condition, llvm::PatternMatch::m_LogicalOr(m_Value(left), m_Value(right)))) {
    return truth ? likely(left, truth) || likely(right, truth) : likely(left, truth) && likely(right, truth);
  }
  return true;
}

// What is run of one side before the sides meet. Empty where the side is none of its own.
Blocks side_of(llvm::BasicBlock* branch, llvm::BasicBlock* first, const llvm::BasicBlock* meeting) {
  Blocks blocks;
  if (first == meeting || first->getSinglePredecessor() != branch) return {};
  blocks.insert(first);
  std::size_t size = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    llvm::BasicBlock* block = blocks[i];
    size += block->size();
    if (size > kLongest || llvm::succ_empty(block) || waits_for_threadgroup(*block)) return {};
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
  Sharer(llvm::Function& function, const Facts& facts) : function_(function), facts_(facts) {}

  bool run() {
    llvm::SmallVector<llvm::BasicBlock*> branches;
    for (llvm::BasicBlock& block : function_) {
      if (facts_.branches_apart(&block) && facts_.by_position(branch_of(&block)->getCondition())) {
        branches.push_back(&block);
      }
    }
    bool changed = false;
    // Copies of branches come behind them: once those outside are agreed on, lanes may agree on those inside too.
    for (std::size_t i = 0; i < branches.size(); ++i) {
      llvm::BasicBlock* block = branches[i];
      if (apart_.contains(block)) continue;
      for (const unsigned which : {0U, 1U}) {
        if (!likely(branch_of(block)->getCondition(), which == 0)) continue;
        llvm::SmallVector<llvm::BasicBlock*> more;
        block = share(block, which, branches, more, changed);
        branches.append(more);
      }
    }
    return changed;
  }

 private:
  static llvm::BranchInst* branch_of(llvm::BasicBlock* block) {
    return llvm::cast<llvm::BranchInst>(block->getTerminator());
  }

  // Returns the block that ends in the branch now.
  llvm::BasicBlock* share(llvm::BasicBlock* block, unsigned which, llvm::ArrayRef<llvm::BasicBlock*> branches,
                          llvm::SmallVectorImpl<llvm::BasicBlock*>& more, bool& changed) {
    const llvm::PostDominatorTree tree(function_);
    const llvm::DomTreeNode* after = tree.getNode(block)->getIDom();
    llvm::BasicBlock* meeting = after != nullptr ? after->getBlock() : nullptr;
    if (meeting == nullptr) return block;
    llvm::BranchInst* branch = branch_of(block);
    const Blocks side = side_of(block, branch->getSuccessor(which), meeting);
    std::size_t size = 0;
    for (const llvm::BasicBlock* part : side) size += part->size();
    if (side.empty() || grown_ + size > kMostNew) return block;
    grown_ += size;
    changed = true;

    llvm::ValueToValueMapTy map;
    llvm::SmallVector<llvm::BasicBlock*> copies;
    for (llvm::BasicBlock* part : side) {
      llvm::BasicBlock* copy = llvm::CloneBasicBlock(part, map, ".all", &function_);
      map[part] = copy;
      copies.push_back(copy);
      if (llvm::is_contained(branches, part)) {
        apart_.insert(part);
        more.push_back(copy);
      }
    }
    llvm::remapInstructionsInBlocks(copies, map);
    for (llvm::PHINode& phi : meeting->phis()) {
      for (llvm::BasicBlock* part : side) {
        const int index = phi.getBasicBlockIndex(part);
        if (index < 0) continue;
        llvm::Value* value = phi.getIncomingValue(static_cast<unsigned>(index));
        const auto found = map.find(value);
        phi.addIncoming(found != map.end() ? static_cast<llvm::Value*>(found->second) : value,
                        llvm::cast<llvm::BasicBlock>(map[part]));
      }
    }

    llvm::BasicBlock* parting = block->splitBasicBlock(branch, "parting");
    block->getTerminator()->eraseFromParent();
    llvm::IRBuilder<> b(block);
    auto all = function_.getParent()->getOrInsertFunction("air.simd_all", b.getInt1Ty(), b.getInt1Ty());
    llvm::cast<llvm::Function>(all.getCallee())->setConvergent();
    llvm::Value* condition = branch->getCondition();
    if (which == 1) condition = b.CreateNot(condition);
    auto* copy = llvm::cast<llvm::BasicBlock>(map[side[0]]);
    b.CreateCondBr(b.CreateCall(all, {condition}), copy, parting);
    for (llvm::PHINode& phi : copy->phis()) phi.replaceIncomingBlockWith(parting, block);
    return parting;
  }

  llvm::Function& function_;
  const Facts& facts_;
  llvm::SmallPtrSet<const llvm::BasicBlock*, 8> apart_;  // within sides that are run by some lanes
  std::size_t grown_ = 0;
};

}  // namespace

bool share_sides(const Thread& thread, const Facts& facts) { return Sharer(*thread.function, facts).run(); }

}  // namespace anymps::metal::lower::simd
