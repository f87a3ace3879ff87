// On x86, LLVM keeps a bfloat between blocks as a float and rounds it again at its end, which makes zeros of denormals
// and may change a NaN. Moving a value must keep its bits, so here bfloats are words of 16 bits, and floats while they
// are computed with.
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/builtins/compute_as_float.h"

namespace anymps::metal::lower::builtins {
namespace {

bool is_bfloat(const llvm::Type* type) { return type->getScalarType()->isBFloatTy(); }

class Words {
 public:
  explicit Words(llvm::Function& function) : function_(function), b_(function.getContext()) {}

  void spell_out() {
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_)) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(*block)) visit(instruction);
    }
    for (llvm::PHINode* phi : phis_) complete(*phi);
    for (llvm::Instruction* instruction : gone_) {
      instruction->replaceAllUsesWith(llvm::PoisonValue::get(instruction->getType()));
      instruction->eraseFromParent();
    }
  }

 private:
  static llvm::Type* with_scalar(llvm::Type* shape, llvm::Type* scalar) { return shape->getWithNewType(scalar); }
  llvm::Type* word_type(llvm::Type* type) { return with_scalar(type, b_.getInt16Ty()); }

  llvm::Value* word(llvm::Value* value) {
    const auto found = words_.find(value);
    return found != words_.end() ? found->second : b_.CreateBitCast(value, word_type(value->getType()));
  }

  llvm::Value* wide(llvm::Value* value) {
    llvm::Type* type = value->getType();
    llvm::Value* bits = b_.CreateShl(b_.CreateZExt(word(value), with_scalar(type, b_.getInt32Ty())), 16);
    return b_.CreateBitCast(bits, with_scalar(type, b_.getFloatTy()));
  }

  // To nearest, ties to even, the same on every CPU: not all have an instruction for it, and one that does takes
  // denormals for zero.
  llvm::Value* narrow(llvm::Value* value) {
    llvm::Type* type = value->getType();
    llvm::Type* number = with_scalar(type, b_.getInt32Ty());
    const auto constant = [&](std::uint64_t bits) { return llvm::ConstantInt::get(number, bits); };
    llvm::Value* bits = b_.CreateBitCast(value, number);
    llvm::Value* odd = b_.CreateAnd(b_.CreateLShr(bits, 16), constant(1));
    llvm::Value* rounded = b_.CreateLShr(b_.CreateAdd(bits, b_.CreateAdd(odd, constant(0x7FFF))), 16);
    llvm::Value* quiet = b_.CreateOr(b_.CreateLShr(bits, 16), constant(0x40));
    llvm::Value* chosen = b_.CreateSelect(b_.CreateFCmpUNO(value, value), quiet, rounded);
    return b_.CreateTrunc(chosen, with_scalar(type, b_.getInt16Ty()));
  }

  void replace(llvm::Instruction& instruction, llvm::Value* by) {
    if (is_bfloat(instruction.getType())) {
      words_[&instruction] = by;
    } else {
      instruction.replaceAllUsesWith(by);
    }
    gone_.push_back(&instruction);
  }

  void visit(llvm::Instruction& instruction) {
    const bool gives = is_bfloat(instruction.getType());
    const bool takes = llvm::any_of(instruction.operands(), [](llvm::Use& use) { return is_bfloat(use->getType()); });
    if (!gives && !takes) return;
    b_.SetInsertPoint(&instruction);
    if (llvm::Value* by = spelled_out(instruction)) return replace(instruction, by);
    for (llvm::Use& use : instruction.operands()) {
      if (is_bfloat(use->getType())) use.set(b_.CreateBitCast(word(use), use->getType()));
    }
    if (!gives) return;
    b_.SetInsertPoint(instruction.getNextNode());
    words_[&instruction] = b_.CreateBitCast(&instruction, word_type(instruction.getType()));
  }

  // The same with words or floats; null for what LLVM has to do with bfloats.
  llvm::Value* spelled_out(llvm::Instruction& instruction) {
    llvm::Type* type = instruction.getType();
    const auto operand = [&](unsigned i) { return instruction.getOperand(i); };
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Load: {
        const auto& load = llvm::cast<llvm::LoadInst>(instruction);
        auto* copy = b_.CreateAlignedLoad(word_type(type), operand(0), load.getAlign(), load.isVolatile());
        copy->copyMetadata(instruction);
        return copy;
      }
      case llvm::Instruction::Store: {
        const auto& store = llvm::cast<llvm::StoreInst>(instruction);
        auto* copy = b_.CreateAlignedStore(word(operand(0)), operand(1), store.getAlign(), store.isVolatile());
        copy->copyMetadata(instruction);
        return copy;
      }
      case llvm::Instruction::PHI:
        phis_.push_back(llvm::cast<llvm::PHINode>(&instruction));
        return b_.CreatePHI(word_type(type), phis_.back()->getNumIncomingValues());
      case llvm::Instruction::Select:
        return b_.CreateSelect(operand(0), word(operand(1)), word(operand(2)));
      case llvm::Instruction::Freeze:
        return b_.CreateFreeze(word(operand(0)));
      case llvm::Instruction::ExtractElement:
        return b_.CreateExtractElement(word(operand(0)), operand(1));
      case llvm::Instruction::InsertElement:
        return b_.CreateInsertElement(word(operand(0)), word(operand(1)), operand(2));
      case llvm::Instruction::ShuffleVector:
        return b_.CreateShuffleVector(word(operand(0)), word(operand(1)),
                                      llvm::cast<llvm::ShuffleVectorInst>(instruction).getShuffleMask());
      case llvm::Instruction::BitCast:
        return b_.CreateBitCast(is_bfloat(operand(0)->getType()) ? word(operand(0)) : operand(0),
                                is_bfloat(type) ? word_type(type) : type);
      case llvm::Instruction::FNeg:
        return b_.CreateXor(word(operand(0)), llvm::ConstantInt::get(word_type(type), 0x8000));
      case llvm::Instruction::FCmp:
        return b_.CreateFCmp(llvm::cast<llvm::FCmpInst>(instruction).getPredicate(), wide(operand(0)),
                             wide(operand(1)));
      case llvm::Instruction::FPExt:
        return b_.CreateFPExt(wide(operand(0)), type);
      case llvm::Instruction::FPTrunc:
        if (!operand(0)->getType()->getScalarType()->isFloatTy()) return nullptr;
        return narrow(operand(0));
      // LLVM makes one step of integer to float to bfloat, and on x86 that calls what not every libgcc has.
      case llvm::Instruction::SIToFP:
      case llvm::Instruction::UIToFP:
        return narrow(b_.CreateCast(llvm::cast<llvm::CastInst>(instruction).getOpcode(), operand(0),
                                    with_scalar(type, b_.getFloatTy())));
      case llvm::Instruction::FPToSI:
      case llvm::Instruction::FPToUI:
        return b_.CreateCast(llvm::cast<llvm::CastInst>(instruction).getOpcode(), wide(operand(0)), type);
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
      case llvm::Instruction::FMul:
      case llvm::Instruction::FDiv:
        return narrow(b_.CreateBinOp(llvm::cast<llvm::BinaryOperator>(instruction).getOpcode(), wide(operand(0)),
                                     wide(operand(1))));
      case llvm::Instruction::Call: {
        const auto& call = llvm::cast<llvm::CallInst>(instruction);
        llvm::Value* by = moved(call);
        return by != nullptr ? by : computed(call);
      }
      default:
        return nullptr;
    }
  }

  // What a function makes of bfloats without computing; null for others. LLVM would take pieces of vectors for floats.
  llvm::Value* moved(const llvm::CallInst& call) {
    const auto operand = [&](unsigned i) { return call.getArgOperand(i); };
    const auto align = [&](unsigned i) { return llvm::cast<llvm::ConstantInt>(operand(i))->getAlignValue(); };
    const auto bits = [&](unsigned i, std::uint64_t of) { return b_.CreateAnd(word(operand(i)), of); };
    llvm::Instruction* copy = nullptr;
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::fabs:
        return bits(0, 0x7FFF);
      case llvm::Intrinsic::copysign:
        return b_.CreateOr(bits(0, 0x7FFF), bits(1, 0x8000));
      case llvm::Intrinsic::masked_load:
        copy = b_.CreateMaskedLoad(word_type(call.getType()), operand(0), align(1), operand(2), word(operand(3)));
        break;
      case llvm::Intrinsic::masked_store:
        copy = b_.CreateMaskedStore(word(operand(0)), operand(1), align(2), operand(3));
        break;
      case llvm::Intrinsic::masked_gather:
        copy = b_.CreateMaskedGather(word_type(call.getType()), operand(0), align(1), operand(2), word(operand(3)));
        break;
      case llvm::Intrinsic::masked_scatter:
        copy = b_.CreateMaskedScatter(word(operand(0)), operand(1), align(2), operand(3));
        break;
      default:
        return nullptr;
    }
    copy->copyMetadata(call);
    return copy;
  }

  // What a function makes of bfloats, by way of floats; null for others.
  llvm::Value* computed(const llvm::CallInst& call) {
    switch (call.getIntrinsicID()) {
      case llvm::Intrinsic::pow:
      case llvm::Intrinsic::exp:
      case llvm::Intrinsic::exp2:
      case llvm::Intrinsic::log:
      case llvm::Intrinsic::log2:
      case llvm::Intrinsic::log10:
      case llvm::Intrinsic::sin:
      case llvm::Intrinsic::cos:
        break;
      default:
        if (!is_arithmetic(call.getIntrinsicID())) return nullptr;
    }
    return narrow(called_by_floats(b_, call, [&](llvm::Value* operand) { return wide(operand); }));
  }

  void complete(llvm::PHINode& phi) {
    auto* words = llvm::cast<llvm::PHINode>(words_[&phi]);
    for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
      llvm::BasicBlock* from = phi.getIncomingBlock(i);
      b_.SetInsertPoint(from->getTerminator());
      words->addIncoming(word(phi.getIncomingValue(i)), from);
    }
  }

  llvm::Function& function_;
  llvm::IRBuilder<> b_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> words_;  // by the bfloat
  llvm::SmallVector<llvm::PHINode*> phis_;
  llvm::SmallVector<llvm::Instruction*> gone_;
};

llvm::Type* passed(llvm::Type* type) {
  return is_bfloat(type) ? type->getWithNewType(llvm::Type::getInt16Ty(type->getContext())) : type;
}

bool is_only_called(const llvm::Function& function) {
  return llvm::all_of(function.uses(), [&](const llvm::Use& use) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(use.getUser());
    return call != nullptr && call->isCallee(&use);
  });
}

// What is left of functions after inlining: a bfloat that one gets or gives is a word, too.
void pass_words(llvm::Function& function) {
  llvm::SmallVector<llvm::Type*> parameters;
  for (const llvm::Argument& argument : function.args()) parameters.push_back(passed(argument.getType()));
  auto* type = llvm::FunctionType::get(passed(function.getReturnType()), parameters, false);
  if (type == function.getFunctionType() || !function.hasLocalLinkage() || !is_only_called(function)) return;
  auto* words =
      llvm::Function::Create(type, function.getLinkage(), function.getAddressSpace(), "", function.getParent());
  words->takeName(&function);
  words->copyAttributesFrom(&function);
  words->splice(words->begin(), &function);
  llvm::IRBuilder<> b(&*words->getEntryBlock().getFirstInsertionPt());
  for (auto [before, now] : llvm::zip_equal(function.args(), words->args())) {
    before.replaceAllUsesWith(b.CreateBitCast(&now, before.getType()));
  }
  for (llvm::BasicBlock& block : *words) {
    auto* given = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (given == nullptr || given->getReturnValue() == nullptr) continue;
    b.SetInsertPoint(given);
    given->setOperand(0, b.CreateBitCast(given->getReturnValue(), type->getReturnType()));
  }
  for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
    auto* call = llvm::cast<llvm::CallInst>(user);
    b.SetInsertPoint(call);
    llvm::SmallVector<llvm::Value*> arguments;
    for (auto [argument, wanted] : llvm::zip_equal(call->args(), parameters)) {
      arguments.push_back(b.CreateBitCast(argument, wanted));
    }
    llvm::CallInst* copy = b.CreateCall(words, arguments);
    copy->setCallingConv(call->getCallingConv());
    copy->setAttributes(call->getAttributes());
    copy->setTailCallKind(call->getTailCallKind());
    copy->copyMetadata(*call);
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(b.CreateBitCast(copy, call->getType()));
    call->eraseFromParent();
  }
  function.eraseFromParent();
}

}  // namespace

void expand_bfloat(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!function.isDeclaration()) pass_words(function);
  }
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) Words(function).spell_out();
  }
}

}  // namespace anymps::metal::lower::builtins
