// LLVM's own passes, as kernels need them.
#pragma once

#include "metal/lower/support/pass_runner.h"

namespace anymps::metal::lower {

// Sequences of LLVM's passes for one module.
class Optimiser {
 public:
  // No library of vector mathematics: a thread's result must not depend on whether its loop was vectorised.
  // `soon`: leaves loops as they are, which spares half of the time.
  Optimiser(llvm::TargetMachine& target, bool soon, support::PassInstrumentation* instrumentation = nullptr);

  // Function constants folded, everything inlined into the kernel.
  void flatten(llvm::Module& module);
  // Before anything can unroll loops around places where a coroutine suspends: that takes seconds for a sort.
  void split_coroutines(llvm::Module& module);
  void optimise(llvm::Module& module);
  // For what vectorize_kernel() wrote: variables become registers. Before coroutines are split, whose frames would hold
  // them.
  void simplify_vectors(llvm::Module& module);
  // The rest of it, inlined; nothing here makes vectors of vectors.
  void optimise_vectors(llvm::Module& module);

  // Runs passes of the caller's choice with the same analyses.
  support::PassRunner& runner() { return runner_; }

 private:
  void run_on_functions(support::Pass pass, llvm::Module& module, llvm::FunctionPassManager functions);

  support::PassRunner runner_;
};

}  // namespace anymps::metal::lower
