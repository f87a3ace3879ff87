#include "metal/lower/transform/thread_indices.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/wider_function.h"

namespace anymps::metal::lower::transform {
namespace {

void replace_calls(llvm::Function& function, llvm::Value* index) {
  for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    if (call == nullptr) continue;
    llvm::IRBuilder<> b(call);
    call->replaceAllUsesWith(b.CreateZExtOrTrunc(index, call->getType()));
    call->eraseFromParent();
  }
}

}  // namespace

llvm::Function* add_thread_indices(llvm::Module& module, llvm::Function* kernel,
                                   std::vector<support::Parameter>& parameters) {
  const std::pair<llvm::StringLiteral, support::Role> indices[] = {
      {builtins::kIndexInSimdgroup, support::Role::kIndexInSimdgroup},
      {builtins::kSimdgroupIndex, support::Role::kSimdgroupIndex}};
  for (const auto& [prefix, role] : indices) {
    llvm::SmallVector<llvm::Function*> asking;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with(prefix))
        asking.push_back(&function);
    }
    if (asking.empty()) continue;
    kernel = support::with_parameter(kernel, llvm::Type::getInt32Ty(module.getContext()));
    parameters.push_back({.role = role});
    for (llvm::Function* function : asking) replace_calls(*function, kernel->getArg(kernel->arg_size() - 1));
  }
  return kernel;
}

}  // namespace anymps::metal::lower::transform
