#include "metal/lower/support/pass_runner.h"

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

namespace anymps::metal::lower::support {

PassRunner::PassRunner(llvm::TargetMachine& target, const llvm::PipelineTuningOptions& tuning,
                       PassInstrumentation* instrumentation)
    : instrumentation_(instrumentation), builder_(&target, tuning) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(components_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
}

void PassRunner::run_pass(Pass pass, const llvm::Module& module, llvm::function_ref<void()> work) {
  if (instrumentation_ == nullptr) return work();
  instrumentation_->before(pass);
  work();
  if (!instrumentation_->after(pass, module)) throw LoweringStopped{};
}

void PassRunner::run(llvm::ModulePassManager& passes, llvm::Module& module) {
  passes.run(module, modules_);
  forget();
}

void PassRunner::run(llvm::FunctionPassManager& passes, llvm::Function& function) {
  passes.run(function, functions_);
  forget();
}

void PassRunner::forget() {
  modules_.clear();
  components_.clear();
  functions_.clear();
  loops_.clear();
}

}  // namespace anymps::metal::lower::support
