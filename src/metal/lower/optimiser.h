// LLVM's own passes, as kernels need them.
#pragma once

#include <llvm/Passes/PassBuilder.h>

namespace anymps::metal::lower {

// LLVM's analyses and pipelines, made for one module.
class Optimiser {
 public:
  // No library of vector mathematics: a thread's result must not depend on whether its loop was vectorised.
  // `soon`: leaves loops as they are, which spares half of the time.
  Optimiser(llvm::TargetMachine& target, bool soon);

  // Function constants folded, everything inlined into the kernel.
  void flatten(llvm::Module& module);
  // Before anything can unroll loops around places where a coroutine suspends: that takes seconds for a sort.
  void split_coroutines(llvm::Module& module);
  void optimise(llvm::Module& module);
  // For what make_simd() wrote: variables become registers. Before coroutines are split, whose frames would hold them.
  void tidy_vectors(llvm::Module& module);
  // The rest of it, inlined; nothing here makes vectors of vectors.
  void optimise_vectors(llvm::Module& module);

  // Passes of one's own choice.
  void run(llvm::FunctionPassManager& passes, llvm::Function& function);

 private:
  void run(llvm::ModulePassManager& passes, llvm::Module& module);
  void forget();

  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
};

}  // namespace anymps::metal::lower
