#include "metal/lint/lint.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Target/TargetMachine.h>

#include <array>

#include "metal/lower/optimiser.h"
#include "metal/lower/transform/normalise_attributes.h"
#include "metal/support/host_target.h"

namespace anymps::metal::lint {
namespace {

using Lint = void (*)(const Kernel& kernel, std::vector<Finding>& findings);

constexpr std::array<Lint, 2> kLints = {find_unguarded_indices, find_missing_barriers};

// An address that goes anywhere but into an address or a store is taken to be read from.
bool is_loaded(const llvm::Value& address) {
  return llvm::any_of(address.uses(), [](const llvm::Use& use) {
    const llvm::User* user = use.getUser();
    if (llvm::isa<llvm::GEPOperator>(user)) return is_loaded(*user);
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
    return store == nullptr || store->getPointerOperand() != use.get();
  });
}

std::set<unsigned> loaded_parameters(const llvm::Function& kernel) {
  std::set<unsigned> loaded;
  for (const llvm::Argument& parameter : kernel.args()) {
    if (parameter.getType()->isPointerTy() && is_loaded(parameter)) loaded.insert(parameter.getArgNo());
  }
  return loaded;
}

}  // namespace

Lints lint_kernel(const library::FunctionEntry& function) {
  llvm::LLVMContext context;
  const auto module = air::read_module(context, function.bitcode, function.name);
  const air::Signature signature = air::read_signature(*module, function.name);
  llvm::Function* kernel = module->getFunction(function.name);
  const auto target = llvm::cantFail(support::host_target().createTargetMachine());
  lower::transform::normalise_attributes(*module, kernel);
  lower::transform::keep_threadgroup_variables(*module);
  lower::Optimiser(*target, true).flatten(*module);
  Lints lints{.findings = {}, .loaded = loaded_parameters(*kernel)};
  for (const Lint lint : kLints) lint({*kernel, signature}, lints.findings);
  // A function constant often says how many simdgroups there are, and with that who writes where.
  if (!signature.constants.empty()) {
    for (Finding& finding : lints.findings) finding.severity = Severity::kWarning;
  }
  return lints;
}

}  // namespace anymps::metal::lint
