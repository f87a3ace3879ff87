#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <algorithm>
#include <set>

#include "metal/lint/lint.h"
#include "metal/lower/workgroup/coroutines.h"

namespace anymps::metal::lint {
namespace {

using Values = std::set<const llvm::Value*>;

// What is computed from the position, without what is read from memory with it.
Values derived_from_position(const Kernel& kernel) {
  Values derived;
  std::vector<const llvm::Value*> work;
  for (const air::Argument& argument : kernel.signature.arguments) {
    if (argument.kind == air::ArgumentKind::kThreadPositionInGrid)
      work.push_back(kernel.function.getArg(argument.parameter));
  }
  while (!work.empty()) {
    const llvm::Value* value = work.back();
    work.pop_back();
    if (!derived.insert(value).second || llvm::isa<llvm::LoadInst>(value)) continue;
    for (const llvm::User* user : value->users()) work.push_back(user);
  }
  return derived;
}

// A comparison, or something that keeps within bounds as one does.
bool bounds(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::ICmpInst, llvm::FCmpInst>(instruction)) return true;
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
  if (callee == nullptr) return false;
  return std::ranges::any_of(
      std::initializer_list<llvm::StringRef>{"air.min.", "air.clamp.", "llvm.umin.", "llvm.smin."},
      [&](llvm::StringRef name) { return callee->getName().starts_with(name); });
}

bool is_bounded(const Values& derived) {
  return std::ranges::any_of(derived, [&](const llvm::Value* value) {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction != nullptr && bounds(*instruction);
  });
}

const llvm::Argument* buffer_of(const llvm::Value* address) {
  while (const auto* element = llvm::dyn_cast<llvm::GEPOperator>(address)) address = element->getPointerOperand();
  const auto* argument = llvm::dyn_cast<llvm::Argument>(address);
  if (argument == nullptr || !argument->getType()->isPointerTy()) return nullptr;
  return argument->getType()->getPointerAddressSpace() == air::kDeviceSpace ? argument : nullptr;
}

}  // namespace

void find_unguarded_indices(const Kernel& kernel, std::vector<Finding>& findings) {
  const Values derived = derived_from_position(kernel);
  if (is_bounded(derived)) return;
  std::set<const llvm::Argument*> told;
  for (const llvm::BasicBlock& block : kernel.function) {
    for (const llvm::Instruction& instruction : block) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
      if (store == nullptr || !derived.contains(store->getPointerOperand())) continue;
      const llvm::Argument* buffer = buffer_of(store->getPointerOperand());
      if (buffer == nullptr || !told.insert(buffer).second) continue;
      const std::string& name = kernel.signature.arguments[buffer->getArgNo()].name;
      findings.push_back({kUnguardedIndex, Severity::kWarning, name, lower::workgroup::place_of(instruction),
                          name +
                              " is written at thread_position_in_grid, which nothing compares with a bound: a launch "
                              "of more threads than it has elements writes outside"});
    }
  }
}

}  // namespace anymps::metal::lint
