// Loops with one latch each.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

namespace anymps::metal::lower::workgroup {

// Gives each of those loops a single latch, and calls `made` with it.
void canonicalize_latches(llvm::Function& function,
                          llvm::function_ref<bool(const llvm::Loop& loop, const llvm::DominatorTree& tree)> which,
                          llvm::function_ref<void(llvm::BasicBlock& latch)> made);

}  // namespace anymps::metal::lower::workgroup
