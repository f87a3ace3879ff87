// x86 without arithmetic of halves computes them as floats. LLVM 19 does so with vectors for sums and products, but
// takes them apart for all that is here, lane by lane: a comparison of 32 lanes is 400 instructions. Here these are
// written as what they are for one lane.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/TargetParser/Triple.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/builtins/compute_as_float.h"

namespace anymps::metal::lower::builtins {
namespace {

bool is_half(const llvm::Type* type) { return type->getScalarType()->isHalfTy(); }

bool is_taken_apart(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::FCmpInst>(instruction)) return is_half(instruction.getOperand(0)->getType());
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || !is_half(call->getType())) return false;
  return is_arithmetic(call->getIntrinsicID());
}

llvm::Value* widened(llvm::IRBuilder<>& b, llvm::Instruction& instruction) {
  const auto wide = [&](llvm::Value* value) {
    return b.CreateFPExt(value, value->getType()->getWithNewType(b.getFloatTy()));
  };
  if (const auto* comparison = llvm::dyn_cast<llvm::FCmpInst>(&instruction)) {
    // One after the other: compilers differ in the order in which they evaluate arguments.
    llvm::Value* left = wide(comparison->getOperand(0));
    llvm::Value* right = wide(comparison->getOperand(1));
    return b.CreateFCmp(comparison->getPredicate(), left, right);
  }
  const auto& call = llvm::cast<llvm::CallInst>(instruction);
  return b.CreateFPTrunc(called_by_floats(b, call, wide), call.getType());
}

}  // namespace

void promote_half(llvm::Module& module) {
  if (!llvm::Triple(module.getTargetTriple()).isX86()) return;
  llvm::IRBuilder<> b(module.getContext());
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!is_taken_apart(instruction)) continue;
      b.SetInsertPoint(&instruction);
      instruction.replaceAllUsesWith(widened(b, instruction));
      instruction.eraseFromParent();
    }
  }
}

}  // namespace anymps::metal::lower::builtins
