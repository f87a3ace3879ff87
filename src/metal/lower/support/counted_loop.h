// for (x = from; x < to; x += by), written where a builder stands.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace anymps::metal::lower::support {

// Returns the branch that goes round, and leaves the builder behind the loop. `by` does not lead past 2^32.
inline llvm::BranchInst* counted_loop(llvm::IRBuilder<>& b, llvm::Value* from, llvm::Value* to, llvm::Value* by,
                                      llvm::function_ref<void(llvm::Value* x)> body) {
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::Function* function = before->getParent();
  auto* head = llvm::BasicBlock::Create(b.getContext(), "loop", function);
  auto* done = llvm::BasicBlock::Create(b.getContext(), "done", function);
  b.CreateCondBr(b.CreateICmpULT(from, to), head, done);
  b.SetInsertPoint(head);
  llvm::PHINode* x = b.CreatePHI(b.getInt32Ty(), 2);
  x->addIncoming(from, before);
  body(x);
  llvm::Value* next = b.CreateAdd(x, by, "", /*HasNUW=*/true);
  x->addIncoming(next, b.GetInsertBlock());
  llvm::BranchInst* round = b.CreateCondBr(b.CreateICmpULT(next, to), head, done);
  b.SetInsertPoint(done);
  return round;
}

}  // namespace anymps::metal::lower::support
