#include "metal/lower/transform/narrow_matrices.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdint>

namespace anymps::metal::lower::transform {
namespace {

constexpr unsigned kMatrix = 64;
constexpr unsigned kOwned = 2;

bool is_matrix(llvm::Type* type) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector != nullptr && vector->getNumElements() == kMatrix;
}

llvm::Type* narrowed(llvm::Type* type) {
  return is_matrix(type) ? llvm::FixedVectorType::get(type->getScalarType(), kOwned) : type;
}

class Narrower {
 public:
  explicit Narrower(llvm::Function& function) : function_(function) {}

  bool run() {
    collect();
    for (llvm::Instruction* instruction : work_) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
        narrow_[phi] =
            llvm::PHINode::Create(narrowed(phi->getType()), phi->getNumIncomingValues(), "", phi->getIterator());
      }
    }
    for (llvm::Instruction* instruction : work_) {
      if (!llvm::isa<llvm::PHINode>(instruction)) rewrite(*instruction);
      if (reason != nullptr) return false;
    }
    for (llvm::Instruction* instruction : work_) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(instruction)) {
        auto* narrow = llvm::cast<llvm::PHINode>(narrow_[phi]);
        for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
          narrow->addIncoming(get(phi->getIncomingValue(i)), phi->getIncomingBlock(i));
        }
      }
    }
    for (llvm::Instruction* instruction : work_) {
      if (!instruction->getType()->isVoidTy()) {
        instruction->replaceAllUsesWith(llvm::PoisonValue::get(instruction->getType()));
      }
    }
    for (llvm::Instruction* instruction : work_) instruction->eraseFromParent();
    return reason == nullptr;
  }

  const char* reason = nullptr;

 private:
  void collect() {
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal(&function_)) {
      for (llvm::Instruction& instruction : *block) {
        const bool touches =
            is_matrix(instruction.getType()) ||
            llvm::any_of(instruction.operands(), [](const llvm::Use& use) { return is_matrix(use->getType()); });
        if (touches) work_.push_back(&instruction);
      }
    }
  }

  llvm::Value* get(llvm::Value* value) {
    if (const auto found = narrow_.find(value); found != narrow_.end()) return found->second;
    llvm::Type* type = narrowed(value->getType());
    if (llvm::isa<llvm::PoisonValue>(value)) return llvm::PoisonValue::get(type);
    if (llvm::isa<llvm::UndefValue>(value)) return llvm::UndefValue::get(type);
    if (auto* constant = llvm::dyn_cast<llvm::Constant>(value)) {
      return llvm::ConstantVector::get({constant->getAggregateElement(0U), constant->getAggregateElement(1U)});
    }
    reason = "a matrix that is neither made nor loaded here";
    return llvm::PoisonValue::get(type);
  }

  llvm::Value* element(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned index, llvm::Type* type) {
    if (!is_matrix(vector->getType())) return b.CreateExtractElement(vector, index);
    return index < kOwned ? b.CreateExtractElement(get(vector), index) : llvm::PoisonValue::get(type);
  }

  // Of a loop over what a thread owns, the index is a variable: one of the two, since no thread owns others.
  llvm::Value* element(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* index, llvm::Type* type) {
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index)) {
      return element(b, vector, static_cast<unsigned>(constant->getZExtValue()), type);
    }
    if (!is_matrix(vector->getType())) return b.CreateExtractElement(vector, index);
    llvm::Value* owned = get(vector);
    llvm::Value* first = b.CreateExtractElement(owned, std::uint64_t{0});
    llvm::Value* second = b.CreateExtractElement(owned, std::uint64_t{1});
    return b.CreateSelect(b.CreateIsNull(index), first, second);
  }

  llvm::Value* with_element(llvm::IRBuilder<>& b, llvm::Value* vector, llvm::Value* element, llvm::Value* index) {
    llvm::Value* owned = get(vector);
    if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index)) {
      return constant->getZExtValue() < kOwned ? b.CreateInsertElement(owned, element, index) : owned;
    }
    for (std::uint64_t i = 0; i < kOwned; ++i) {
      llvm::Value* here = b.CreateICmpEQ(index, llvm::ConstantInt::get(index->getType(), i));
      owned = b.CreateInsertElement(owned, b.CreateSelect(here, element, b.CreateExtractElement(owned, i)), i);
    }
    return owned;
  }

  llvm::Value* shuffle(llvm::IRBuilder<>& b, llvm::ShuffleVectorInst& from) {
    llvm::Type* type = narrowed(from.getType());
    llvm::Type* scalar = type->getScalarType();
    const unsigned width = llvm::cast<llvm::FixedVectorType>(from.getOperand(0)->getType())->getNumElements();
    llvm::Value* result = llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < llvm::cast<llvm::FixedVectorType>(type)->getNumElements(); ++i) {
      const int mask = from.getMaskValue(i);
      if (mask < 0) continue;
      const auto place = static_cast<unsigned>(mask);
      result = b.CreateInsertElement(result, element(b, from.getOperand(place >= width), place % width, scalar), i);
    }
    return result;
  }

  // A call of the same name and shape, with two elements for each matrix.
  llvm::Value* call(llvm::IRBuilder<>& b, llvm::CallInst& from) {
    llvm::SmallVector<llvm::Value*> arguments;
    llvm::SmallVector<llvm::Type*> types;
    for (const llvm::Use& use : from.args()) {
      arguments.push_back(is_matrix(use->getType()) ? get(use) : use.get());
      types.push_back(arguments.back()->getType());
    }
    llvm::Function* callee = from.getCalledFunction();
    if (callee == nullptr) {
      reason = "an indirect call with a matrix";
      return nullptr;
    }
    return b.CreateCall(
        function_.getParent()->getOrInsertFunction((callee->getName() + ".narrow").str(),
                                                   llvm::FunctionType::get(narrowed(from.getType()), types, false)),
        arguments);
  }

  void rewrite(llvm::Instruction& instruction) {
    llvm::IRBuilder<> b(&instruction);
    llvm::Type* type = narrowed(instruction.getType());
    llvm::Value* result = nullptr;
    if (auto* from = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
      result = shuffle(b, *from);
    } else if (auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) {
      result = element(b, extract->getVectorOperand(), extract->getIndexOperand(), type);
    } else if (auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) {
      result = with_element(b, insert->getOperand(0), insert->getOperand(1), insert->getOperand(2));
    } else if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(&instruction);
               cast != nullptr && is_matrix(cast->getSrcTy()) && is_matrix(cast->getDestTy())) {
      result = b.CreateBitCast(get(cast->getOperand(0)), type);
    } else if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      result = b.CreateAlignedLoad(type, load->getPointerOperand(), std::min(load->getAlign(), llvm::Align(8)));
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      b.CreateAlignedStore(get(store->getValueOperand()), store->getPointerOperand(),
                           std::min(store->getAlign(), llvm::Align(8)));
    } else if (auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
      result = b.CreateSelect(select->getCondition(), get(select->getTrueValue()), get(select->getFalseValue()));
    } else if (llvm::isa<llvm::FreezeInst>(&instruction)) {
      result = b.CreateFreeze(get(instruction.getOperand(0)));
    } else if (auto* from_call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      result = call(b, *from_call);
    } else {
      return fail(instruction.getOpcodeName());
    }
    if (is_matrix(instruction.getType())) {
      narrow_[&instruction] = result;
    } else if (result != nullptr && !instruction.getType()->isVoidTy()) {
      instruction.replaceAllUsesWith(result);
    }
  }

  void fail(const char* why) { reason = why; }

  llvm::Function& function_;
  llvm::SmallVector<llvm::Instruction*> work_;
  llvm::DenseMap<llvm::Value*, llvm::Value*> narrow_;
};

}  // namespace

bool narrow_matrices(llvm::Function& function, const char*& reason) {
  Narrower narrower(function);
  const bool done = narrower.run();
  reason = narrower.reason;
  return done;
}

}  // namespace anymps::metal::lower::transform
