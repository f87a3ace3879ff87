#include "metal/lower/kernel.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Coroutines/CoroCleanup.h>
#include <llvm/Transforms/Coroutines/CoroEarly.h>
#include <llvm/Transforms/Coroutines/CoroSplit.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/GlobalOpt.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include <algorithm>

#include "metal/air/signature.h"
#include "metal/lower/bodies.h"

namespace anymps::metal::lower {
namespace {

// LLVM's analyses and pipelines, made for one module.
class Optimiser {
 public:
  // No library of vector mathematics: a thread's result must not depend on whether its loop was vectorised.
  explicit Optimiser(llvm::TargetMachine& target) : builder_(&target, tuning()) {
    builder_.registerModuleAnalyses(modules_);
    builder_.registerCGSCCAnalyses(components_);
    builder_.registerFunctionAnalyses(functions_);
    builder_.registerLoopAnalyses(loops_);
    builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
  }

  // Function constants folded, everything inlined into the kernel.
  void flatten(llvm::Module& module) {
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

  // Before anything can unroll loops around places where a coroutine suspends: that takes seconds for a sort.
  void split_coroutines(llvm::Module& module) {
    llvm::ModulePassManager passes;
    passes.addPass(llvm::CoroEarlyPass());
    passes.addPass(llvm::createModuleToPostOrderCGSCCPassAdaptor(llvm::CoroSplitPass()));
    passes.addPass(llvm::CoroCleanupPass());
    passes.addPass(llvm::GlobalDCEPass());
    run(passes, module);
  }

  void optimise(llvm::Module& module) {
    llvm::ModulePassManager passes = builder_.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    run(passes, module);
  }

 private:
  static llvm::PipelineTuningOptions tuning() {
    llvm::PipelineTuningOptions options;
    options.LoopVectorization = true;
    options.LoopInterleaving = true;
    options.SLPVectorization = false;
    return options;
  }

  void run(llvm::ModulePassManager& passes, llvm::Module& module) {
    passes.run(module, modules_);
    modules_.clear();
    components_.clear();
    functions_.clear();
    loops_.clear();
  }

  llvm::PassBuilder builder_;
  llvm::LoopAnalysisManager loops_;
  llvm::FunctionAnalysisManager functions_;
  llvm::CGSCCAnalysisManager components_;
  llvm::ModuleAnalysisManager modules_;
};

// Apple's compiler leaves attributes that are about its GPU, or that would keep LLVM from inlining and from knowing
// libm.
void adopt_functions(llvm::Module& module, llvm::Function* kernel) {
  for (llvm::Function& function : module) {
    for (const char* attribute :
         {"no-builtins", "frame-pointer", "min-legal-vector-width", "stack-protector-buffer-size"}) {
      function.removeFnAttr(attribute);
    }
    function.setCallingConv(llvm::CallingConv::C);
    for (llvm::User* user : function.users()) {
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setCallingConv(llvm::CallingConv::C);
    }
    if (function.isDeclaration() || &function == kernel || function.getName().starts_with("_GLOBAL__sub_I")) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

// A GPU loads float4 from any multiple of 4 bytes, and kernels make use of it (rows of any length taken four at a
// time); the CPU's aligned loads would fault.
void trust_no_vector_alignment(llvm::Module& module) {
  const auto relax = [&](auto& access, llvm::Type* type) {
    if (!type->isVectorTy() || access.getPointerAddressSpace() == 0) return;
    const llvm::Align element = module.getDataLayout().getABITypeAlign(type->getScalarType());
    access.setAlignment(std::min(access.getAlign(), element));
  };
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) relax(*load, load->getType());
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
          relax(*store, store->getValueOperand()->getType());
        }
      }
    }
  }
}

// Otherwise what is only written, or only read, is optimised away before it is seen.
void keep_threadgroup_variables(llvm::Module& module) {
  for (llvm::GlobalVariable& global : module.globals()) {
    if (global.getAddressSpace() == kThreadgroupSpace) global.setLinkage(llvm::GlobalValue::ExternalLinkage);
  }
}

// LLVM must not conclude that what equals zero has no other bits than the sign. Of the other types it is to assume
// nothing: bfloat is computed as float, half is not.
void take_denormals_for_zero(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr("denormal-fp-math", "dynamic,dynamic");
  }
}

Lowered refused(std::string why) {
  Lowered lowered;
  lowered.refusal = std::move(why);
  return lowered;
}

}  // namespace

Lowered lower_kernel(llvm::Module& module, const std::string& kernel_name, const std::vector<Parameter>& parameters,
                     const LoweringOptions& options, llvm::TargetMachine& target) {
  llvm::Function* kernel = module.getFunction(kernel_name);
  if (kernel == nullptr || kernel->isDeclaration()) return refused("the module has no function " + kernel_name);
  if (kernel->arg_size() != parameters.size()) return refused("not every parameter is described");
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  set_function_constants(module, options.constants);
  lower_elementary(module, target);
  lower_math(module, options.denormals_are_zero);
  lower_integers(module);
  lower_conversions(module);
  lower_atomics(module);
  if (const auto unknown = unknown_functions(module); !unknown.empty()) {
    return refused("it calls " + unknown.front() + ", which is not known here");
  }
  make_divisions_safe(module);
  adopt_functions(module, kernel);
  if (options.validate) keep_threadgroup_variables(module);
  if (llvm::NamedMDNode* list = module.getNamedMetadata("air.kernel")) list->eraseFromParent();

  if (options.denormals_are_zero) take_denormals_for_zero(module);
  Optimiser optimiser(target);
  optimiser.flatten(module);
  const char* reason = nullptr;
  if (!narrow_matrices(*kernel, reason)) return refused(std::string("8x8 matrices: ") + reason);

  Lowered lowered;
  const bool coroutines = options.force_coroutines || options.validate || has_meetings(module);
  lowered.route = coroutines ? Route::kCoroutines : Route::kThreadLoop;
  std::vector<ThreadgroupVariable> variables;
  kernel = place_threadgroup_variables(module, kernel, lowered.threadgroup, variables);
  if (lowered.route == Route::kCoroutines) {
    ThreadCode thread;
    lowered.refusal = make_coroutines(module, kernel, parameters, lowered.points, thread);
    if (!lowered.refusal.empty()) return lowered;
    if (options.validate) {
      insert_validation(thread, parameters, variables, lowered.validation);
      if (lowered.validation.sites.size() >= kMostSites) return refused("it has too many places to validate");
    }
  } else {
    make_thread_loop(module, kernel, parameters);
  }
  trust_no_vector_alignment(module);
  if (options.denormals_are_zero) take_denormals_for_zero(module);  // also in the functions that are new
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(module, &out)) return refused("lowering left a broken module: " + out.str());
  // LLVM holds some of Intel's processors to half their registers, for fear of lower clocks; kernels are all
  // arithmetic.
  for (llvm::Function& function : module) function.addFnAttr("prefer-vector-width", "512");
  if (lowered.route == Route::kCoroutines) optimiser.split_coroutines(module);
  optimiser.optimise(module);
  spell_out_bfloats(module);
  return lowered;
}

}  // namespace anymps::metal::lower
