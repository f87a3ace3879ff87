#include "metal/frontend/emit/metal_semantics.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include <string>

#include "metal/air/signature.h"
#include "metal/frontend/support/annotations.h"

namespace anymps::metal::frontend::emit {
namespace {

// "f32", "v4f16", "i8", as the names of AIR's functions have it.
std::string suffix_of(llvm::Type* type) {
  std::string text;
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type))
    text = "v" + std::to_string(vector->getNumElements());
  llvm::Type* element = type->getScalarType();
  if (element->isBFloatTy()) return text + "bf16";
  return text + (element->isFloatingPointTy() ? "f" : "i") + std::to_string(element->getPrimitiveSizeInBits());
}

struct Kinds {
  const char* to;
  const char* from;
};
std::optional<Kinds> kinds_of(unsigned opcode) {
  switch (opcode) {
    case llvm::Instruction::FPToSI:
      return Kinds{"s", "f"};
    case llvm::Instruction::FPToUI:
      return Kinds{"u", "f"};
    case llvm::Instruction::SIToFP:
      return Kinds{"f", "s"};
    case llvm::Instruction::UIToFP:
      return Kinds{"f", "u"};
    default:
      return std::nullopt;
  }
}

void convert_as_air(llvm::CastInst& cast, const Kinds& kinds) {
  llvm::Module& module = *cast.getModule();
  llvm::Type* from = cast.getSrcTy();
  llvm::Type* to = cast.getDestTy();
  const std::string name =
      std::string("air.convert.") + kinds.to + "." + suffix_of(to) + "." + kinds.from + "." + suffix_of(from);
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(to, {from}, false));
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->setWillReturn();
  llvm::IRBuilder<> b(&cast);
  llvm::CallInst* call = b.CreateCall(callee, cast.getOperand(0));
  call->takeName(&cast);
  cast.replaceAllUsesWith(call);
  cast.eraseFromParent();
}

void shift_modulo_width(llvm::BinaryOperator& shift) {
  if (llvm::isa<llvm::Constant>(shift.getOperand(1))) return;
  llvm::IRBuilder<> b(&shift);
  llvm::Type* type = shift.getType();
  shift.setOperand(1, b.CreateAnd(shift.getOperand(1), llvm::ConstantInt::get(type, type->getScalarSizeInBits() - 1)));
}

void forget(llvm::Module& module, const char* name) {
  if (llvm::GlobalVariable* global = module.getNamedGlobal(name)) global->eraseFromParent();
}

}  // namespace

void conform(llvm::Module& module) {
  for (llvm::Function& function : module) {
    function.setComdat(nullptr);
    function.setSection("");
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      if (llvm::isa<llvm::IntrinsicInst>(instruction) &&
          llvm::cast<llvm::IntrinsicInst>(instruction).getIntrinsicID() == llvm::Intrinsic::var_annotation) {
        instruction.eraseFromParent();
      } else if (const auto kinds = kinds_of(instruction.getOpcode())) {
        convert_as_air(llvm::cast<llvm::CastInst>(instruction), *kinds);
      } else if (instruction.isShift()) {
        shift_modulo_width(llvm::cast<llvm::BinaryOperator>(instruction));
      }
    }
  }
  for (llvm::GlobalVariable& global : module.globals()) {
    global.setComdat(nullptr);
    if (global.getAddressSpace() == air::kThreadgroupSpace && global.getSection() == support::kUninitialisedSection) {
      global.setInitializer(llvm::UndefValue::get(global.getValueType()));
    }
    global.setSection("");
  }
  for (const char* name : {"llvm.global.annotations", "llvm.used", "llvm.compiler.used"}) forget(module, name);
}

}  // namespace anymps::metal::frontend::emit
