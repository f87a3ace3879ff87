// "for (i = thread; i < count; i += threads)": lanes leave such a loop apart, but only in its last iteration. The
// iterations that all of them run become a loop of their own, in which nobody has to ask who takes part
// (split_uniform_iterations).
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/vectorize/block_copies.h"
#include "metal/lower/vectorize/canonicalize.h"

namespace anymps::metal::lower::vectorize {
namespace {

// A longer body is not worth having twice.
constexpr unsigned kLongestBody = 200;

bool is_together(const Divergence& divergence, const llvm::Value* value) {
  return divergence.shape(value).kind != Shape::Kind::kVarying;
}

// Whether lanes leave it by where they are, at the end of an iteration.
bool can_be_shared(const llvm::Loop& loop, const Divergence& divergence) {
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (!divergence.leaves_apart(&loop) || !loop.getSubLoops().empty() || latch == nullptr) return false;
  if (loop.getExitingBlock() != latch || loop.getExitBlock() == nullptr) return false;
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator());
  if (branch == nullptr || !branch->isConditional()) return false;
  const auto* condition = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (condition == nullptr || condition->isEquality()) return false;
  if (!is_together(divergence, condition->getOperand(0)) || !is_together(divergence, condition->getOperand(1)))
    return false;
  std::size_t size = 0;
  for (const llvm::BasicBlock* block : loop.blocks()) {
    size += block->size();
    if (builtins::waits_for_threadgroup(*block)) return false;
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

  // Behind the last iteration of all: some go on in the loop as it was, some leave.
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

bool split_uniform_iterations(const Thread& thread, const Divergence& divergence) {
  llvm::SmallVector<const llvm::Loop*> loops;
  for (const llvm::Loop* loop : divergence.loops().getLoopsInPreorder()) {
    if (can_be_shared(*loop, divergence)) loops.push_back(loop);
  }
  for (const llvm::Loop* loop : loops) share(*thread.function, *loop);
  return !loops.empty();
}

}  // namespace anymps::metal::lower::vectorize
