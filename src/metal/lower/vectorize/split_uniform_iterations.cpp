// "for (i = thread; i < count; i += threads)": lanes leave such a loop apart, but only in its last round. The rounds
// that all of them run become a loop of their own, in which nobody has to ask who takes part (share_rounds).
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "metal/lower/bodies.h"
#include "metal/lower/simd_copies.h"
#include "metal/lower/simd_prepare.h"

namespace anymps::metal::lower::simd {
namespace {

// A longer body is not worth having twice.
constexpr unsigned kLongestBody = 200;

bool is_together(const Facts& facts, const llvm::Value* value) {
  return facts.shape(value).kind != Shape::Kind::kVarying;
}

// Whether lanes leave it by where they are, at the end of a round.
bool can_be_shared(const llvm::Loop& loop, const Facts& facts) {
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!facts.leaves_apart(&loop) || !loop.getSubLoops().empty() || latch == nullptr) return false;
  if (loop.getExitingBlock() != latch || loop.getExitBlock() == nullptr) return false;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (branch == nullptr || !branch->isConditional()) return false;
  const auto* condition = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (condition == nullptr || condition->isEquality()) return false;
  if (!is_together(facts, condition->getOperand(0)) || !is_together(facts, condition->getOperand(1))) return false;
  std::size_t size = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    size += block->size();
    if (waits_for_threadgroup(*block)) return false;
  }
  return size <= kLongestBody;
}

void share(llvm::Function& function, const llvm::Loop& loop) {
  llvm::BasicBlock* before = loop.getLoopPreheader();
  llvm::BasicBlock* header = loop.getHeader();
  llvm::BasicBlock* latch = loop.getLoopLatch();
  llvm::BasicBlock* exit = loop.getExitBlock();
  const Copies copies(loop.getBlocks());
  llvm::BasicBlock* first = copies.of(header);
  llvm::BasicBlock* last = copies.of(latch);
  before->getTerminator()->replaceSuccessorWith(header, first);

  // Behind the last round of all: some go on in the loop as it was, some leave.
  auto* parting = llvm::BasicBlock::Create(function.getContext(), "parting", &function);
  auto* branch = llvm::cast<llvm::BranchInst>(last->getTerminator());
  llvm::IRBuilder<> b(branch);
  llvm::Value* stays = branch->getCondition();
  if (branch->getSuccessor(0) != first) stays = b.CreateNot(stays);
  b.CreateCondBr(ask_lanes(b, stays), first, parting);
  branch->eraseFromParent();
  b.SetInsertPoint(parting);
  b.CreateCondBr(stays, header, exit);
  for (llvm::PHINode& phi : header->phis()) {
    phi.setIncomingBlock(static_cast<unsigned>(phi.getBasicBlockIndex(before)), parting);
    phi.setIncomingValueForBlock(parting, copies.of(phi.getIncomingValueForBlock(latch)));
  }
  for (llvm::PHINode& phi : exit->phis()) phi.addIncoming(copies.of(phi.getIncomingValueForBlock(latch)), parting);
}

}  // namespace

bool share_rounds(const Thread& thread, const Facts& facts) {
  llvm::SmallVector<const llvm::Loop*> loops;
  for (const llvm::Loop* loop : facts.loops().getLoopsInPreorder()) {
    if (can_be_shared(*loop, facts)) loops.push_back(loop);
  }
  for (const llvm::Loop* loop : loops) share(*thread.function, *loop);
  return !loops.empty();
}

}  // namespace anymps::metal::lower::simd
