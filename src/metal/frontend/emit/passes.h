// LLVM's passes over the compiler's modules, within its limits of time (limits.h).
#pragma once

#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Passes/PassBuilder.h>

namespace anymps::metal::frontend::emit {

class Passes {
 public:
  explicit Passes(const llvm::Module& module);

  // Each function by itself, as it comes from the parser: its variables become values. Done once for a program, so that
  // what many kernels call is short when it is inlined into each.
  void promote(llvm::Module& module);
  // Of a kernel: what it calls is inlined, which all but declarations must allow.
  void inline_calls(llvm::Module& module);
  void optimise(llvm::Module& module);

 private:
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
  llvm::PassInstrumentationCallbacks instrumentation_;
  llvm::PassBuilder builder_;
};

}  // namespace anymps::metal::frontend::emit
