#include "metal/lower/transform/memory_origins.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Operator.h>

#include <optional>

#include "metal/lower/transform/threadgroup_variables.h"

namespace anymps::metal::lower::transform {
namespace {

std::optional<unsigned> variable_of(const llvm::Value* value) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  const llvm::MDNode* mark = instruction == nullptr ? nullptr : instruction->getMetadata(kVariableMark);
  if (mark == nullptr) return std::nullopt;
  return static_cast<unsigned>(llvm::mdconst::extract<llvm::ConstantInt>(mark->getOperand(0))->getZExtValue());
}

}  // namespace

MemoryOrigins memory_origins_of(const llvm::Value* address) {
  MemoryOrigins origins;
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*> work = {address};
  while (!work.empty()) {
    const llvm::Value* value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (const auto* argument = llvm::dyn_cast<llvm::Argument>(value)) {
      origins.arguments.push_back(argument);
    } else if (llvm::isa<llvm::GlobalVariable>(value)) {
      origins.global = true;
    } else if (const auto variable = variable_of(value)) {
      origins.variables.push_back(*variable);
    } else if (const auto* element = llvm::dyn_cast<llvm::GEPOperator>(value)) {
      work.push_back(element->getPointerOperand());
    } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value)) {
      for (const llvm::Use& use : phi->incoming_values()) work.push_back(use);
    } else if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(value)) {
      work.append({select->getTrueValue(), select->getFalseValue()});
    } else if (llvm::isa<llvm::AddrSpaceCastOperator, llvm::BitCastOperator, llvm::FreezeInst>(value)) {
      work.push_back(llvm::cast<llvm::User>(value)->getOperand(0));
    } else if (!llvm::isa<llvm::UndefValue>(value)) {
      origins.unknown = true;
    }
  }
  return origins;
}

}  // namespace anymps::metal::lower::transform
