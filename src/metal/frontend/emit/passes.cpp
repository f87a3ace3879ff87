#include "metal/frontend/emit/passes.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/InferAddressSpaces.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend::emit {
namespace {

// What is not needed for the result to be right is left out once the time is over, and what takes more than its share
// of it where a function is long.
bool may_run(llvm::StringRef pass, llvm::Any unit) {
  constexpr std::size_t kManyBlocks = 4096;
  if (support::seconds_used() > support::kMostSeconds) return false;
  if (pass != "JumpThreadingPass" && pass != "CorrelatedValuePropagationPass" && pass != "GVNPass") return true;
  const auto* function = llvm::any_cast<const llvm::Function*>(&unit);
  return function == nullptr || (*function)->size() <= kManyBlocks;
}

llvm::PipelineTuningOptions tuning() {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = false;
  options.SLPVectorization = false;
  return options;
}

}  // namespace

Passes::Passes(const llvm::Module& module) : builder_(nullptr, tuning(), std::nullopt, &instrumentation_) {
  instrumentation_.registerShouldRunOptionalPassCallback(may_run);
  // There is no C library: what LLVM would call of it has no place in AIR.
  llvm::TargetLibraryInfoImpl library((llvm::Triple(module.getTargetTriple())));
  library.disableAllFunctions();
  functions_.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(components_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
}

void Passes::promote(llvm::Module& module) {
  llvm::FunctionPassManager promote;
  promote.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  promote.addPass(llvm::EarlyCSEPass());
  promote.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager passes;
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(promote)));
  passes.run(module, modules_);
}

void Passes::inline_calls(llvm::Module& module) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager promote;
  promote.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  promote.addPass(llvm::EarlyCSEPass());
  promote.addPass(llvm::InferAddressSpacesPass(0));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(promote)));
  passes.run(module, modules_);
}

void Passes::optimise(llvm::Module& module) {
  llvm::ModulePassManager passes;
  // Functions that were given to others by a pointer: by now the calls name them.
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager simplify;
  simplify.addPass(
      builder_.buildFunctionSimplificationPipeline(llvm::OptimizationLevel::O2, llvm::ThinOrFullLTOPhase::None));
  simplify.addPass(llvm::InferAddressSpacesPass(0));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(simplify)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules_);
}

}  // namespace anymps::metal::frontend::emit
