// A thread's own arrays as arrays of all lanes (privatize_allocas).
#include <llvm/Analysis/Utils/Local.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "metal/lower/vectorize/canonicalize.h"

namespace anymps::metal::lower::vectorize {
namespace {

constexpr std::uint64_t kLine = 64;

class Spreader {
 public:
  Spreader(const Thread& thread, llvm::AllocaInst& variable)
      : thread_(thread), variable_(variable), layout_(thread.function->getParent()->getDataLayout()), b_(&variable) {}

  void run() {
    look();
    for (llvm::Instruction* mark : lifetimes_) mark->eraseFromParent();
    const bool by_element = element_ != 0 && regular_;
    std::uint64_t bytes = layout_.getTypeAllocSize(variable_.getAllocatedType());
    if (by_element) bytes = llvm::alignTo(bytes, element_);
    const std::uint64_t step = by_element ? element_ : llvm::alignTo(bytes, variable_.getAlign());
    auto* all = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt8Ty(), (by_element ? bytes : step) * thread_.lanes),
                                nullptr, "lanes");
    all->setAlignment(std::max(llvm::Align(kLine), variable_.getAlign()));
    llvm::Value* lane = b_.CreateZExt(thread_.lane(), b_.getInt64Ty());
    llvm::Value* own = b_.CreateGEP(b_.getInt8Ty(), all, b_.CreateMul(lane, b_.getInt64(step), "", true, true));
    if (by_element) by_elements();
    variable_.replaceAllUsesWith(own);
    variable_.eraseFromParent();
  }

 private:
  // Everything that is done with it, and whether all of it is to elements of one size.
  void look() {
    llvm::SmallVector<llvm::Instruction*> work = {&variable_};
    while (!work.empty()) {
      for (llvm::Use& use : work.pop_back_val()->uses()) {
        auto* user = llvm::cast<llvm::Instruction>(use.getUser());
        if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(user)) {
          addresses_.push_back(address);
          work.push_back(address);
        } else if (user->isLifetimeStartOrEnd()) {
          lifetimes_.push_back(user);
        } else if (llvm::isa<llvm::LoadInst>(user) ||
                   (llvm::isa<llvm::StoreInst>(user) &&
                    use.getOperandNo() == llvm::StoreInst::getPointerOperandIndex())) {
          accesses_.push_back(user);
          access(llvm::getLoadStoreType(user));
        } else {
          regular_ = false;
        }
      }
    }
    for (const llvm::GetElementPtrInst* address : addresses_) {
      llvm::MapVector<llvm::Value*, llvm::APInt> terms;
      llvm::APInt constant(64, 0);
      if (element_ == 0 || !address->collectOffset(layout_, 64, terms, constant) ||
          constant.getSExtValue() % static_cast<std::int64_t>(element_) != 0) {
        regular_ = false;
        return;
      }
      for (const auto& [index, times] : terms) {
        regular_ &= times.getSExtValue() % static_cast<std::int64_t>(element_) == 0;
      }
    }
  }

  void access(llvm::Type* type) {
    llvm::Type* scalar = type->getScalarType();
    const std::uint64_t size = layout_.getTypeStoreSize(scalar);
    if (element_ == 0) element_ = size;
    if (type->isAggregateType() || size != element_ || scalar->getPrimitiveSizeInBits() % 8 != 0) regular_ = false;
    if (scalar->isPointerTy()) regular_ &= size == element_;
  }

  void by_elements() {
    for (llvm::GetElementPtrInst* address : addresses_) {
      b_.SetInsertPoint(address);
      llvm::Value* offset = llvm::emitGEPOffset(&b_, layout_, address, /*NoAssumptions=*/true);
      llvm::Value* spread =
          b_.CreateGEP(b_.getInt8Ty(), address->getPointerOperand(), b_.CreateMul(offset, b_.getInt64(thread_.lanes)));
      address->replaceAllUsesWith(spread);
      address->eraseFromParent();
    }
    for (llvm::Instruction* access : accesses_) {
      auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(llvm::getLoadStoreType(access));
      b_.SetInsertPoint(access);
      if (vector == nullptr) {
        if (auto* load = llvm::dyn_cast<llvm::LoadInst>(access)) load->setAlignment(llvm::Align(element_));
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access)) store->setAlignment(llvm::Align(element_));
        continue;
      }
      llvm::Value* result = llvm::PoisonValue::get(vector);
      for (unsigned i = 0; i < vector->getNumElements(); ++i) {
        llvm::Value* place = b_.CreateGEP(b_.getInt8Ty(), llvm::getLoadStorePointerOperand(access),
                                          b_.getInt64(i * element_ * thread_.lanes));
        if (auto* store = llvm::dyn_cast<llvm::StoreInst>(access)) {
          b_.CreateAlignedStore(b_.CreateExtractElement(store->getValueOperand(), i), place, llvm::Align(element_));
        } else {
          result = b_.CreateInsertElement(
              result, b_.CreateAlignedLoad(vector->getElementType(), place, llvm::Align(element_)), i);
        }
      }
      if (llvm::isa<llvm::LoadInst>(access)) access->replaceAllUsesWith(result);
      access->eraseFromParent();
    }
  }

  const Thread& thread_;
  llvm::AllocaInst& variable_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> b_;
  llvm::SmallVector<llvm::GetElementPtrInst*> addresses_;
  llvm::SmallVector<llvm::Instruction*> accesses_;
  llvm::SmallVector<llvm::Instruction*> lifetimes_;
  std::uint64_t element_ = 0;
  bool regular_ = true;
};

}  // namespace

void privatize_allocas(const Thread& thread) {
  llvm::SmallVector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : llvm::instructions(*thread.function)) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable == nullptr) continue;
    if (!variable->isStaticAlloca()) throw CannotVectorize{"a variable of unknown size"};
    variables.push_back(variable);
  }
  for (llvm::AllocaInst* variable : variables) Spreader(thread, *variable).run();
}

}  // namespace anymps::metal::lower::vectorize
