// Integers by zero, and the least one by -1: a GPU gives some number, a CPU would stop the process.
#include "metal/lower/transform/guard_divisions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

namespace anymps::metal::lower::transform {
namespace {

bool divides(const llvm::Instruction& instruction) {
  switch (instruction.getOpcode()) {
    case llvm::Instruction::SDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::URem:
      return true;
    default:
      return false;
  }
}

// What is not defined is a division by one, which for the least integer by -1 is the wrapped result.
llvm::Value* safe_divisor(llvm::IRBuilder<>& b, llvm::Instruction& division) {
  llvm::Value* dividend = division.getOperand(0);
  llvm::Value* divisor = division.getOperand(1);
  llvm::Type* type = divisor->getType();
  llvm::Value* bad = b.CreateICmpEQ(divisor, llvm::Constant::getNullValue(type));
  if (division.getOpcode() == llvm::Instruction::SDiv || division.getOpcode() == llvm::Instruction::SRem) {
    const auto least = llvm::APInt::getSignedMinValue(type->getScalarSizeInBits());
    llvm::Value* overflows = b.CreateAnd(b.CreateICmpEQ(divisor, llvm::Constant::getAllOnesValue(type)),
                                         b.CreateICmpEQ(dividend, llvm::ConstantInt::get(type, least)));
    bad = b.CreateOr(bad, overflows);
  }
  return b.CreateSelect(bad, llvm::ConstantInt::get(type, 1), divisor);
}

}  // namespace

void guard_divisions(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      if (!divides(instruction) || llvm::isa<llvm::Constant>(instruction.getOperand(1))) continue;
      llvm::IRBuilder<> builder(&instruction);
      instruction.setOperand(1, safe_divisor(builder, instruction));
    }
  }
}

}  // namespace anymps::metal::lower::transform
