// Narrow floats that are computed with as floats.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

namespace anymps::metal::lower::builtins {

// Functions that give the same by way of floats, and that LLVM may not make vectors of where CPUs have none for halves
// and bfloats.
constexpr bool is_arithmetic(llvm::Intrinsic::ID function) {
  switch (function) {
    case llvm::Intrinsic::fma:
    // A multiplication and an addition are fused for all types alike: without this, x86 rounds a product of halves.
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::round:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
      return true;
    default:
      return false;
  }
}

// The same call with floats; `wide` makes one of a narrow number.
inline llvm::Value* called_by_floats(llvm::IRBuilder<>& b, const llvm::CallInst& call,
                                     llvm::function_ref<llvm::Value*(llvm::Value*)> wide) {
  llvm::SmallVector<llvm::Value*> operands;
  for (llvm::Value* operand : call.args()) operands.push_back(wide(operand));
  return b.CreateIntrinsic(call.getIntrinsicID(), {call.getType()->getWithNewType(b.getFloatTy())}, operands);
}

}  // namespace anymps::metal::lower::builtins
