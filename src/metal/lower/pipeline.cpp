#include "metal/lower/kernel.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "metal/lower/adopt.h"
#include "metal/lower/alike_cases.h"
#include "metal/lower/bodies.h"
#include "metal/lower/early_constants.h"
#include "metal/lower/once.h"
#include "metal/lower/optimiser.h"

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

}  // namespace

Lowered lower_kernel(llvm::Module& module, const std::string& kernel_name, const std::vector<Parameter>& parameters,
                     const LoweringOptions& options, llvm::TargetMachine& target) {
  llvm::Function* kernel = module.getFunction(kernel_name);
  if (kernel == nullptr || kernel->isDeclaration()) return refused("the module has no function " + kernel_name);
  if (kernel->arg_size() != parameters.size()) return refused("not every parameter is described");
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  set_function_constants(module, options.constants);
  keep_names_apart(module);
  set_known_bytes(*kernel, parameters, options.known);
  lower_elementary(module, target);
  lower_math(module, options.denormals_are_zero);
  lower_integers(module);
  lower_conversions(module);
  lower_atomics(module);
  if (const auto unknown = unknown_functions(module); !unknown.empty()) {
    return refused("it calls " + unknown.front() + ", which is not known here");
  }
  make_divisions_safe(module);
  if (!options.validate) join_alike_cases(module);
  adopt_functions(module, kernel);
  if (options.validate) keep_threadgroup_variables(module);
  if (llvm::NamedMDNode* list = module.getNamedMetadata("air.kernel")) list->eraseFromParent();

  if (options.denormals_are_zero) take_denormals_for_zero(module);
  Optimiser optimiser(target, options.soon);
  optimiser.flatten(module);
  const char* reason = nullptr;
  if (!narrow_matrices(*kernel, reason)) return refused(std::string("8x8 matrices: ") + reason);

  if (!options.validate) compute_once(*kernel, parameters, optimiser);

  Lowered lowered;
  lowered.meets = meetings_of(module).any();
  if (lowered.meets) read_constants_early(*kernel);
  const bool coroutines = options.force_coroutines || options.validate || lowered.meets;
  lowered.route = coroutines ? Route::kCoroutines : Route::kThreadLoop;
  lowered.left_plain = options.soon && !coroutines && !has_loops(*kernel);
  std::vector<ThreadgroupVariable> variables;
  kernel = place_threadgroup_variables(module, kernel, lowered.threadgroup, variables);
  if (options.simdgroups != Simdgroups::kNone && !options.validate) {
    SimdRun run{};
    lowered.declined = make_simd(module, kernel, parameters, options.simdgroups, target, optimiser, run);
    if (lowered.declined.empty()) lowered.route = run == SimdRun::kDirect ? Route::kSimdLoop : Route::kSimdCoroutines;
  }
  const bool simd = is_simd(lowered.route);
  if (simd) {
    lowered.left_plain = false;
  } else if (lowered.route == Route::kCoroutines) {
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
  use_whole_registers(module);
  if (simd) optimiser.tidy_vectors(module);
  if (is_of_coroutines(lowered.route)) optimiser.split_coroutines(module);
  if (simd) {
    optimiser.optimise_vectors(module);
  } else if (!lowered.left_plain) {
    optimiser.optimise(module);
  }
  spell_out_bfloats(module);
  widen_halves(module);
  return lowered;
}

}  // namespace anymps::metal::lower
