// Where the rounds of a loop end.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>

namespace anymps::metal::lower {

// Gives each of those loops a single block at the end of its rounds, and calls `made` with it.
void join_rounds(llvm::Function& function,
                 llvm::function_ref<bool(const llvm::Loop& loop, const llvm::DominatorTree& tree)> which,
                 llvm::function_ref<void(llvm::BasicBlock& round)> made);

}  // namespace anymps::metal::lower
