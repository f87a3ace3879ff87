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

#include "metal/lower/builtins/vector_variants.h"
#include "metal/lower/transform/keep_interleaved.h"

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
// not in each of the loop's iterations; a phi alone is taken away by CoroSplit.
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

Optimiser::Optimiser(llvm::TargetMachine& target, bool soon, support::PassInstrumentation* instrumentation)
    : runner_(target, tuning(soon), instrumentation) {}

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
  runner_.run(passes, module);
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
  runner_.run(passes, module);
}

void Optimiser::optimise(llvm::Module& module) {
  std::vector<builtins::VectorVariant> variants;
  runner_.run_pass(support::Pass::kOptimise, module, [&] {
    variants = builtins::declare_vector_variants(module);
    llvm::ModulePassManager passes = runner_.builder().buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    runner_.run(passes, module);
  });
  if (variants.empty()) return;
  runner_.run_pass(support::Pass::kVectorVariants, module, [&] {
    builtins::define_vector_variants(module, variants);
    llvm::ModulePassManager inlining;
    inlining.addPass(llvm::AlwaysInlinerPass());
    runner_.run(inlining, module);
  });
}

void Optimiser::run_on_functions(support::Pass pass, llvm::Module& module, llvm::FunctionPassManager functions) {
  runner_.run_pass(pass, module, [&] {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
    runner_.run(passes, module);
  });
}

void Optimiser::simplify_vectors(llvm::Module& module) {
  llvm::FunctionPassManager simplify;
  simplify.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  simplify.addPass(llvm::EarlyCSEPass());
  run_on_functions(support::Pass::kSimplifyVectors, module, std::move(simplify));
  llvm::FunctionPassManager interleaved;
  interleaved.addPass(transform::KeepInterleavedPass());
  run_on_functions(support::Pass::kKeepInterleaved, module, std::move(interleaved));
  llvm::FunctionPassManager combine;
  combine.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  combine.addPass(llvm::SimplifyCFGPass());
  run_on_functions(support::Pass::kCombineVectors, module, std::move(combine));
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
  runner_.run(passes, module);
}

}  // namespace anymps::metal::lower
