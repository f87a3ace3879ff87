#include "metal/lower/transform/fix_variable_sizes.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Evaluator.h>

#include <optional>

namespace anymps::metal::lower::transform {
namespace {

// Of a thread, in bytes: more is no tensor that a GPU has registers for.
constexpr std::uint64_t kLargest = 64 << 10;

std::optional<std::uint64_t> value_of(llvm::Function& function, llvm::Module& module) {
  if (function.isDeclaration() || function.arg_size() != 0) return std::nullopt;
  llvm::Evaluator evaluator(module.getDataLayout(), nullptr);
  llvm::Constant* value = nullptr;
  const llvm::SmallVector<llvm::Constant*> none;
  if (!evaluator.EvaluateFunction(&function, value, none)) return std::nullopt;
  const auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  return number == nullptr ? std::nullopt : std::optional(number->getZExtValue());
}

}  // namespace

std::string fix_variable_sizes(llvm::Module& module) {
  llvm::SmallVector<llvm::AllocaInst*> variables;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable != nullptr && llvm::isa<llvm::CallInst>(variable->getArraySize())) variables.push_back(variable);
    }
  }
  for (llvm::AllocaInst* variable : variables) {
    llvm::Function* size = llvm::cast<llvm::CallInst>(variable->getArraySize())->getCalledFunction();
    const auto bytes = size == nullptr ? std::nullopt : value_of(*size, module);
    if (!bytes) return "the size of a variable cannot be known";
    if (*bytes > kLargest) return "a thread's part of a tensor takes " + std::to_string(*bytes) + " bytes";
    variable->setOperand(0, llvm::ConstantInt::get(variable->getArraySize()->getType(), *bytes));
  }
  return "";
}

}  // namespace anymps::metal::lower::transform
