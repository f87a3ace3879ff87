// What all our coroutines have in common, whether one is a thread or many lanes: a frame out of an arena, and
// suspensions.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace anymps::metal::lower::workgroup {

inline constexpr std::uint64_t kFrameAlignment = 64;

class Coroutine {
 public:
  // Makes one of `function`, which returns its handle. The builder stands in its first block; `frames` points to where
  // the next frame may lie, and is moved on.
  Coroutine(llvm::IRBuilder<>& b, llvm::Function& function, llvm::Value* frames);

  // Ends the builder's block: who is resumed goes on in `rest`. `last`: nobody will be.
  void suspend(llvm::IRBuilder<>& b, llvm::BasicBlock* rest, bool last);

 private:
  llvm::BasicBlock* suspended_;
};

}  // namespace anymps::metal::lower::workgroup
