#include "metal/lower/optimiser.h"

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Coroutines/CoroCleanup.h>
#include <llvm/Transforms/Coroutines/CoroEarly.h>
#include <llvm/Transforms/Coroutines/CoroSplit.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/GlobalOpt.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/LCSSA.h>

#include "metal/lower/side_by_side.h"
#include "metal/lower/vector_forms.h"

namespace anymps::metal::lower {
namespace {

llvm::PipelineTuningOptions tuning(bool soon) {
  llvm::PipelineTuningOptions options;
  options.LoopVectorization = !soon;
  options.LoopInterleaving = !soon;
  options.LoopUnrolling = !soon;
  options.SLPVectorization = false;
  return options;
}

// What is kept over a suspension is stored where it is made. With a name of its own behind a loop, that is there and
// not in each of the loop's rounds; a phi alone is taken away by CoroSplit.
class BehindLoopsPass : public llvm::PassInfoMixin<BehindLoopsPass> {
 public:
  // NOLINTNEXTLINE(readability-identifier-naming): LLVM's name
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager&) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::PHINode& phi : block.phis()) {
        if (phi.getNumIncomingValues() != 1 || llvm::isa<llvm::Constant>(phi.getIncomingValue(0))) continue;
        auto* named = new llvm::FreezeInst(&phi, "", block.getFirstInsertionPt());
        phi.replaceUsesWithIf(named, [&](const llvm::Use& use) { return use.getUser() != named; });
      }
    }
    return llvm::PreservedAnalyses::none();
  }
};

}  // namespace

Optimiser::Optimiser(llvm::TargetMachine& target, bool soon) : builder_(&target, tuning(soon)) {
  builder_.registerModuleAnalyses(modules_);
  builder_.registerCGSCCAnalyses(components_);
  builder_.registerFunctionAnalyses(functions_);
  builder_.registerLoopAnalyses(loops_);
  builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
}

void Optimiser::flatten(llvm::Module& module) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::GlobalOptPass());
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager simplify;
  simplify.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  simplify.addPass(llvm::EarlyCSEPass());
  simplify.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(simplify)));
  run(passes, module);
}

void Optimiser::split_coroutines(llvm::Module& module) {
  llvm::ModulePassManager passes;
  llvm::FunctionPassManager behind_loops;
  behind_loops.addPass(llvm::LCSSAPass());
  behind_loops.addPass(BehindLoopsPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(behind_loops)));
  passes.addPass(llvm::CoroEarlyPass());
  passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::CoroSplitPass()));
  passes.addPass(llvm::CoroCleanupPass());
  passes.addPass(llvm::GlobalDCEPass());
  run(passes, module);
}

void Optimiser::optimise(llvm::Module& module) {
  const std::vector<VectorForm> forms = offer_vector_forms(module);
  llvm::ModulePassManager passes = builder_.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
  run(passes, module);
  if (forms.empty()) return;
  write_vector_forms(module, forms);
  llvm::ModulePassManager inlining;
  inlining.addPass(llvm::AlwaysInlinerPass());
  run(inlining, module);
}

void Optimiser::tidy_vectors(llvm::Module& module) {
  llvm::ModulePassManager passes;
  llvm::FunctionPassManager tidy;
  tidy.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  tidy.addPass(llvm::EarlyCSEPass());
  tidy.addPass(SideBySidePass());
  tidy.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  tidy.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(tidy)));
  run(passes, module);
}

void Optimiser::optimise_vectors(llvm::Module& module) {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager rest;
  rest.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  llvm::LoopPassManager hoist;
  hoist.addPass(llvm::LoopRotatePass());
  hoist.addPass(llvm::LICMPass(llvm::LICMOptions()));
  rest.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(hoist), /*UseMemorySSA=*/true));
  rest.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  rest.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(rest)));
  run(passes, module);
}

void Optimiser::run(llvm::ModulePassManager& passes, llvm::Module& module) {
  passes.run(module, modules_);
  forget();
}

void Optimiser::run(llvm::FunctionPassManager& passes, llvm::Function& function) {
  passes.run(function, functions_);
  forget();
}

void Optimiser::forget() {
  modules_.clear();
  components_.clear();
  functions_.clear();
  loops_.clear();
}

}  // namespace anymps::metal::lower
