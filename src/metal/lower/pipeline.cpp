#include "metal/lower/pipeline.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/optimiser.h"
#include "metal/lower/transform/fix_variable_sizes.h"
#include "metal/lower/transform/function_constants.h"
#include "metal/lower/transform/guard_divisions.h"
#include "metal/lower/transform/hoist_constant_loads.h"
#include "metal/lower/transform/merge_switch_cases.h"
#include "metal/lower/transform/narrow_matrices.h"
#include "metal/lower/transform/normalise_attributes.h"
#include "metal/lower/transform/simdgroup_hazards.h"
#include "metal/lower/transform/thread_indices.h"
#include "metal/lower/transform/uniform_loop_once.h"
#include "metal/lower/workgroup/cooperative_ops.h"
#include "metal/lower/workgroup/reconvergence_order.h"

namespace anymps::metal::lower {
namespace {

Lowered refused(std::string why) {
  Lowered lowered;
  lowered.refusal = std::move(why);
  return lowered;
}

bool has_loops(const llvm::Function& function) {
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>> edges;
  llvm::FindFunctionBackedges(function, edges);
  return !edges.empty();
}

// One kernel on its way through the passes. What a step finds wrong is in lowered().refusal.
class Lowering {
 public:
  Lowering(llvm::Module& module, llvm::Function* kernel, const std::vector<support::Parameter>& parameters,
           const LoweringOptions& options, llvm::TargetMachine& target, support::PassInstrumentation* instrumentation)
      : module_(module),
        kernel_(kernel),
        parameters_(parameters),
        options_(options),
        target_(target),
        optimiser_(target, options.soon, instrumentation) {}

  Lowered run() {
    if (define_builtins() && flatten() && write_run() && finish()) return std::move(lowered_);
    return refused(std::move(lowered_.refusal));
  }

 private:
  template <typename Work>
  void pass(support::Pass pass, Work work) {
    optimiser_.runner().run_pass(pass, module_, work);
  }

  bool refuse(std::string why) {
    lowered_.refusal = std::move(why);
    return false;
  }

  bool define_builtins() {
    using support::Pass;
    pass(Pass::kFunctionConstants, [&] { transform::set_function_constants(module_, options_.constants); });
    pass(Pass::kPrefixSymbols, [&] { transform::keep_names_apart(module_); });
    pass(Pass::kPropagateArguments, [&] { transform::propagate_arguments(*kernel_, parameters_, options_.known); });
    pass(Pass::kElementaryFunctions, [&] { builtins::lower_elementary(module_, target_); });
    pass(Pass::kMath, [&] { builtins::lower_math(module_, options_.denormals_are_zero); });
    pass(Pass::kIntegers, [&] { builtins::lower_integers(module_); });
    pass(Pass::kConversions, [&] { builtins::lower_conversions(module_); });
    pass(Pass::kAtomics, [&] { builtins::lower_atomics(module_); });
    std::string refusal;
    pass(Pass::kTensors, [&] {
      refusal = builtins::lower_tensors(module_);
      if (refusal.empty()) refusal = builtins::lower_tensor_operations(module_);
      if (refusal.empty()) refusal = transform::fix_variable_sizes(module_);
    });
    if (!refusal.empty()) return refuse(std::move(refusal));
    if (const auto unknown = builtins::unknown_functions(module_); !unknown.empty()) {
      return refuse("it calls " + unknown.front() + ", which is not known here");
    }
    return true;
  }

  bool flatten() {
    using support::Pass;
    pass(Pass::kGuardDivisions, [&] { transform::guard_divisions(module_); });
    if (!options_.validate) pass(Pass::kMergeSwitchCases, [&] { transform::merge_switch_cases(module_); });
    pass(Pass::kNormaliseAttributes, [&] {
      transform::normalise_attributes(module_, kernel_);
      if (options_.validate) transform::keep_threadgroup_variables(module_);
      if (llvm::NamedMDNode* list = module_.getNamedMetadata("air.kernel")) list->eraseFromParent();
      if (options_.denormals_are_zero) transform::take_denormals_for_zero(module_);
    });
    pass(Pass::kFlatten, [&] { optimiser_.flatten(module_); });
    pass(Pass::kThreadIndices, [&] { kernel_ = transform::add_thread_indices(module_, kernel_, parameters_); });
    const char* reason = nullptr;
    pass(Pass::kNarrowMatrices, [&] {
      if (!transform::narrow_matrices(*kernel_, reason)) lowered_.refusal = std::string("8x8 matrices: ") + reason;
    });
    if (!lowered_.refusal.empty() || options_.validate) return lowered_.refusal.empty();
    pass(Pass::kUniformLoopOnce,
         [&] { transform::run_uniform_loops_once(*kernel_, parameters_, optimiser_.runner()); });
    return true;
  }

  // The function "run", for a whole threadgroup.
  bool write_run() {
    using support::Pass;
    lowered_.cooperative = workgroup::cooperative_ops_of(module_).any();
    if (lowered_.cooperative) pass(Pass::kHoistConstantLoads, [&] { transform::hoist_constant_loads(*kernel_); });
    const bool coroutines = options_.force_coroutines || options_.validate || lowered_.cooperative;
    lowered_.route = coroutines ? abi::Route::kCoroutines : abi::Route::kThreadLoop;
    lowered_.left_plain = options_.soon && !coroutines && !has_loops(*kernel_);
    pass(Pass::kThreadgroupVariables,
         [&] { kernel_ = transform::place_threadgroup_variables(module_, kernel_, lowered_.threadgroup, variables_); });
    if (options_.simdgroups != vectorize::Simdgroups::kNone && !options_.validate) write_vectors();
    if (abi::is_simd(lowered_.route)) {
      lowered_.left_plain = false;
      return true;
    }
    if (coroutines) return write_coroutines();
    pass(Pass::kWorkItemLoop, [&] { workgroup::make_work_item_loop(module_, kernel_, parameters_); });
    return true;
  }

  void write_vectors() {
    vectorize::VectorizedRun run{};
    pass(support::Pass::kVectorize, [&] {
      lowered_.not_vectorized = vectorize::vectorize_kernel(module_, kernel_, parameters_, options_.simdgroups, target_,
                                                            optimiser_.runner(), run);
    });
    if (!lowered_.not_vectorized.empty()) return;
    lowered_.route = run == vectorize::VectorizedRun::kDirect ? abi::Route::kSimdLoop : abi::Route::kSimdCoroutines;
  }

  bool write_coroutines() {
    using support::Pass;
    // The sanitiser is to find them.
    if (!options_.validate) pass(Pass::kSimdgroupHazards, [&] { transform::separate_simdgroup_hazards(*kernel_); });
    pass(Pass::kReconvergenceOrder, [&] { workgroup::order_for_reconvergence(*kernel_); });
    workgroup::ThreadCoroutine thread;
    pass(Pass::kCoroutines, [&] {
      lowered_.refusal = workgroup::make_coroutines(module_, kernel_, parameters_, lowered_.points, thread);
    });
    if (!lowered_.refusal.empty() || !options_.validate) return lowered_.refusal.empty();
    pass(Pass::kSanitiser, [&] { transform::insert_validation(thread, parameters_, variables_, lowered_.validation); });
    return lowered_.validation.sites.size() < transform::kMostSites || refuse("it has too many places to validate");
  }

  bool finish() {
    using support::Pass;
    pass(Pass::kVectorAlignment, [&] {
      transform::trust_no_vector_alignment(module_);
      if (options_.denormals_are_zero) transform::take_denormals_for_zero(module_);  // also in functions that are new
    });
    std::string broken;
    llvm::raw_string_ostream out(broken);
    if (llvm::verifyModule(module_, &out)) return refuse("lowering left a broken module: " + out.str());
    transform::use_whole_registers(module_);
    const bool simd = abi::is_simd(lowered_.route);
    if (simd) optimiser_.simplify_vectors(module_);
    if (abi::is_of_coroutines(lowered_.route)) {
      pass(Pass::kSplitCoroutines, [&] { optimiser_.split_coroutines(module_); });
    }
    if (simd) {
      pass(Pass::kOptimise, [&] { optimiser_.optimise_vectors(module_); });
    } else if (!lowered_.left_plain) {
      optimiser_.optimise(module_);
    }
    pass(Pass::kExpandBfloat, [&] { builtins::expand_bfloat(module_); });
    pass(Pass::kPromoteHalf, [&] { builtins::promote_half(module_); });
    return true;
  }

  llvm::Module& module_;
  llvm::Function* kernel_;
  std::vector<support::Parameter> parameters_;  // with those that passes add
  const LoweringOptions& options_;
  llvm::TargetMachine& target_;
  Optimiser optimiser_;
  std::vector<transform::ThreadgroupVariable> variables_;
  Lowered lowered_;
};

}  // namespace

Lowered lower_kernel(llvm::Module& module, const std::string& kernel_name,
                     const std::vector<support::Parameter>& parameters, const LoweringOptions& options,
                     llvm::TargetMachine& target, support::PassInstrumentation* instrumentation) {
  llvm::Function* kernel = module.getFunction(kernel_name);
  if (kernel == nullptr || kernel->isDeclaration()) return refused("the module has no function " + kernel_name);
  if (kernel->arg_size() != parameters.size()) return refused("not every parameter is described");
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  return Lowering(module, kernel, parameters, options, target, instrumentation).run();
}

}  // namespace anymps::metal::lower
