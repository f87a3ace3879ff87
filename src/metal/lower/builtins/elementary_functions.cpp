// Which of Metal's functions are formulas (formulas.h), and their types: half and bfloat go through float.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/builtins/formulas.h"

namespace anymps::metal::lower::builtins {
namespace {

constexpr auto kFamilies = {write_exponential, write_hyperbolic, write_trigonometric,
                            write_half_turns,  write_arc,        write_power};

// Null for a function that is not here.
llvm::Value* formula(llvm::IRBuilder<>& b, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::Type* wide = type->getWithNewType(b.getFloatTy());
  llvm::SmallVector<llvm::Value*> floats;
  for (llvm::Value* argument : arguments) floats.push_back(type != wide ? b.CreateFPExt(argument, wide) : argument);
  for (const auto write : kFamilies) {
    llvm::Value* value = write(b, name, floats);
    if (value != nullptr) return type != wide ? b.CreateFPTrunc(value, type) : value;
  }
  return nullptr;
}

// The number that was made a float, or null.
llvm::Value* count_of(llvm::Value* exponent) {
  if (llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(exponent))
    return llvm::cast<llvm::CastInst>(exponent)->getOperand(0);
  const auto* call = llvm::dyn_cast<llvm::CallInst>(exponent);
  const bool known = call != nullptr && call->getCalledFunction() != nullptr &&
                     call->getCalledFunction()->getName().starts_with("air.convert.f.f32.");
  return known ? call->getArgOperand(0) : nullptr;
}

// "pow(x, i)" in a loop that counts i, as series are written: up to 7 it is a few products. Which it is, is asked
// there.
void multiply_few_times(llvm::CallInst& call) {
  constexpr unsigned kBits = 3;
  llvm::Value* count = count_of(call.getArgOperand(1));
  if (!call.getType()->isFloatTy() || count == nullptr || !count->getType()->isIntegerTy()) return;
  llvm::IRBuilder<> b(&call);
  llvm::Value* few = b.CreateICmpULT(count, llvm::ConstantInt::get(count->getType(), 1U << kBits));
  llvm::Instruction* product = nullptr;
  llvm::Instruction* power = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(few, &call, &product, &power);
  b.SetInsertPoint(product);
  llvm::Value* value = llvm::ConstantFP::get(call.getType(), 1);
  llvm::Value* factor = call.getArgOperand(0);
  for (unsigned bit = 0; bit < kBits; ++bit) {
    if (bit != 0) factor = b.CreateFMul(factor, factor);
    llvm::Value* asked = b.CreateTrunc(b.CreateLShr(count, bit), b.getInt1Ty());
    value = b.CreateSelect(asked, bit != 0 ? b.CreateFMul(value, factor) : factor, value);
  }
  b.SetInsertPoint(&*call.getParent()->begin());
  llvm::PHINode* either = b.CreatePHI(call.getType(), 2);
  call.replaceAllUsesWith(either);
  call.moveBefore(power);
  either->addIncoming(value, product->getParent());
  either->addIncoming(&call, power->getParent());
}

// Powers that are products; of an exponent only its call knows.
void multiply_where_asked(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::StringRef name = function.getName();
    if (!name.consume_front("air.")) continue;
    name.consume_front("fast_");
    if (!name.starts_with("pow.") && !name.starts_with("powr.")) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (call == nullptr) continue;
      if (!llvm::PatternMatch::match(call->getArgOperand(1), llvm::PatternMatch::m_SpecificFP(2))) {
        multiply_few_times(*call);
        continue;
      }
      llvm::Value* x = call->getArgOperand(0);
      call->replaceAllUsesWith(llvm::IRBuilder<>(call).CreateFMul(x, x));
      call->eraseFromParent();
    }
  }
}

}  // namespace

void lower_elementary(llvm::Module& module, const llvm::TargetMachine& target) {
  // Without the instruction, each fused multiply-add is a call, and the C library's functions are faster.
  const bool fuses = target.getTargetTriple().isAArch64() || target.getTargetFeatureString().contains("+fma");
  if (!fuses) return;
  multiply_where_asked(module);
  define_builtins(module, [](llvm::IRBuilder<>& builder, const Declared& declared, llvm::Value*& value) {
    if (!declared.result->isFPOrFPVectorTy()) return Written::kNotMine;
    llvm::StringRef name = declared.operation;
    name.consume_front("fast_");
    if (name == "sincos") {  // returns the sine and stores the cosine
      llvm::Value* x = declared.arguments[0];
      builder.CreateStore(formula(builder, "cos", {x}), declared.arguments[1]);
      value = formula(builder, "sin", {x});
      return Written::kDone;
    }
    const auto of_result = [&](const llvm::Value* argument) { return argument->getType() == declared.result; };
    if (!llvm::all_of(declared.arguments, of_result)) return Written::kNotMine;
    value = formula(builder, name, declared.arguments);
    return value != nullptr ? Written::kDone : Written::kNotMine;
  });
}

}  // namespace anymps::metal::lower::builtins
