// LLVM's analyses, made for one module, and what runs passes with them.
#pragma once

#include <llvm/Passes/PassBuilder.h>

#include "metal/lower/support/pass_instrumentation.h"

namespace anymps::metal::lower::support {

class PassRunner {
 public:
  // `instrumentation` may be null, and is not owned.
  PassRunner(llvm::TargetMachine& target, const llvm::PipelineTuningOptions& tuning,
             PassInstrumentation* instrumentation);

  // Does what a pass of ours does, and tells of it. Throws LoweringStopped where that is wanted.
  void run_pass(Pass pass, const llvm::Module& module, llvm::function_ref<void()> work);

  // Analyses are forgotten afterwards: code outside of passes changes modules, too.
  void run(llvm::ModulePassManager& passes, llvm::Module& module);
  void run(llvm::FunctionPassManager& passes, llvm::Function& function);

  // For LLVM's own pipelines.
  llvm::PassBuilder& builder() { return builder_; }

 private:
  void forget();

  PassInstrumentation* instrumentation_;
  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
};

}  // namespace anymps::metal::lower::support
