#include "metal/lower/transform/merge_switch_cases.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <vector>

#include "metal/air/signature.h"

namespace anymps::metal::lower::transform {
namespace {

using llvm::BasicBlock;
using llvm::Instruction;

// Fewer cases, or longer ones, are better left alone.
constexpr std::size_t kFewest = 8;
constexpr std::size_t kLongestCase = 32;
constexpr std::size_t kMostConstants = 16;
// Of a table, so much may be holes.
constexpr std::size_t kSparsest = 4;

struct Case {
  llvm::ConstantInt* value;
  BasicBlock* block;
};

// Only computes, and goes on in `next`.
bool is_simple(const BasicBlock& block, const BasicBlock& from, const BasicBlock* next) {
  if (block.getSinglePredecessor() != &from || block.getSingleSuccessor() != next || block.size() > kLongestCase)
    return false;
  return llvm::all_of(block, [](const Instruction& instruction) {
    const bool computes = llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CastInst, llvm::CmpInst,
                                    llvm::SelectInst, llvm::BranchInst>(instruction);
    const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    return computes || (call != nullptr && call->doesNotAccessMemory());
  });
}

bool is_number(const llvm::Value* value) { return llvm::isa<llvm::ConstantFP, llvm::ConstantInt>(value); }

unsigned index_in_block(const Instruction& instruction) {
  return static_cast<unsigned>(std::distance(instruction.getParent()->begin(), instruction.getIterator()));
}

// A constant of the cases' code, in each of which it may be another.
struct DifferingConstant {
  Instruction* user;  // in the first case, or a phi behind all
  unsigned operand;
};

class Joiner {
 public:
  explicit Joiner(llvm::SwitchInst& choice) : choice_(choice) {}

  bool run() {
    if (!find()) return false;
    const std::vector<DifferingConstant> places = differing();
    if (places.size() > kMostConstants) return false;
    write(places);
    return true;
  }

 private:
  bool find() {
    BasicBlock* from = choice_.getParent();
    for (const auto& one : choice_.cases()) {
      BasicBlock* block = one.getCaseSuccessor();
      if (next_ == nullptr) next_ = block->getSingleSuccessor();
      if (next_ == nullptr || next_ == from || !is_simple(*block, *from, next_)) continue;
      if (one.getCaseValue()->getBitWidth() > 32) return false;
      if (cases_.empty() || is_alike(*block)) cases_.push_back({one.getCaseValue(), block});
    }
    if (cases_.size() < kFewest) return false;
    lowest_ = highest_ = cases_[0].value->getSExtValue();
    for (const Case& one : cases_) {
      lowest_ = std::min(lowest_, one.value->getSExtValue());
      highest_ = std::max(highest_, one.value->getSExtValue());
    }
    return static_cast<std::size_t>(highest_ - lowest_) < cases_.size() * kSparsest;
  }

  // Whether two operands stand for the same in their cases, or are constants both.
  bool corresponds(const llvm::Value* one, const llvm::Value* other, const BasicBlock& others) const {
    if (one == other) return true;
    if (one->getType() != other->getType()) return false;
    if (is_number(one) && is_number(other)) return true;
    const auto* here = llvm::dyn_cast<Instruction>(one);
    const auto* there = llvm::dyn_cast<Instruction>(other);
    return here != nullptr && there != nullptr && here->getParent() == cases_[0].block &&
           there->getParent() == &others && index_in_block(*here) == index_in_block(*there);
  }

  bool is_alike(const BasicBlock& block) const {
    const BasicBlock& first = *cases_[0].block;
    if (block.size() != first.size()) return false;
    for (const auto& [one, other] : llvm::zip_equal(first, block)) {
      if (one.isTerminator()) continue;
      if (!one.isSameOperationAs(&other)) return false;
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&one);
      if (call != nullptr && call->getCalledOperand() != llvm::cast<llvm::CallInst>(other).getCalledOperand())
        return false;
      for (unsigned i = 0; i < one.getNumOperands(); ++i) {
        if (!corresponds(one.getOperand(i), other.getOperand(i), block)) return false;
      }
    }
    return llvm::all_of(next_->phis(), [&](const llvm::PHINode& phi) {
      return corresponds(phi.getIncomingValueForBlock(&first), phi.getIncomingValueForBlock(&block), block);
    });
  }

  llvm::Constant* constant_of(const DifferingConstant& place, BasicBlock* block) const {
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(place.user)) {
      return llvm::cast<llvm::Constant>(phi->getIncomingValueForBlock(block));
    }
    const Instruction& same = *std::next(block->begin(), index_in_block(*place.user));
    return llvm::cast<llvm::Constant>(same.getOperand(place.operand));
  }

  std::vector<DifferingConstant> differing() const {
    std::vector<DifferingConstant> places;
    const auto add = [&](const DifferingConstant& place, const llvm::Value* first) {
      if (!is_number(first)) return;
      const bool same = llvm::all_of(cases_, [&](const Case& one) { return constant_of(place, one.block) == first; });
      if (!same) places.push_back(place);
    };
    for (Instruction& instruction : *cases_[0].block) {
      for (unsigned i = 0; i < instruction.getNumOperands(); ++i) add({&instruction, i}, instruction.getOperand(i));
    }
    for (llvm::PHINode& phi : next_->phis()) add({&phi, 0}, phi.getIncomingValueForBlock(cases_[0].block));
    return places;
  }

  // A row for each value of the choice, all constants of a type side by side.
  llvm::Value* row(llvm::IRBuilder<>& b, llvm::Type* type, llvm::ArrayRef<DifferingConstant> places,
                   llvm::Value* index) {
    auto* row_type = llvm::ArrayType::get(type, places.size());
    const auto count = static_cast<std::size_t>(highest_ - lowest_) + 1;
    std::vector<llvm::Constant*> rows(count, llvm::Constant::getNullValue(row_type));
    for (const Case& one : cases_) {
      llvm::SmallVector<llvm::Constant*> constants;
      for (const DifferingConstant& place : places) constants.push_back(constant_of(place, one.block));
      rows[static_cast<std::size_t>(one.value->getSExtValue() - lowest_)] =
          llvm::ConstantArray::get(row_type, constants);
    }
    llvm::Module& module = *choice_.getModule();
    auto* table_type = llvm::ArrayType::get(row_type, count);
    auto* table = new llvm::GlobalVariable(module, table_type, /*isConstant=*/true, llvm::GlobalValue::InternalLinkage,
                                           llvm::ConstantArray::get(table_type, rows), "cases", nullptr,
                                           llvm::GlobalVariable::NotThreadLocal, air::kConstantSpace);
    llvm::Value* place = b.CreateInBoundsGEP(row_type, table, index);
    const llvm::Align align = module.getDataLayout().getABITypeAlign(type);
    auto* whole = llvm::FixedVectorType::get(type, static_cast<unsigned>(places.size()));
    llvm::LoadInst* load = b.CreateAlignedLoad(whole, place, align);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module.getContext(), {}));
    return load;
  }

  void write(llvm::ArrayRef<DifferingConstant> places) {
    // The table is read for every value, those that lead elsewhere too.
    llvm::IRBuilder<> b(&choice_);
    llvm::Value* number = choice_.getCondition();
    llvm::Value* index = b.CreateSub(number, llvm::ConstantInt::getSigned(number->getType(), lowest_));
    llvm::Value* last = llvm::ConstantInt::getSigned(number->getType(), highest_ - lowest_);
    index = b.CreateZExt(b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, last), b.getInt64Ty());
    llvm::MapVector<llvm::Type*, llvm::SmallVector<DifferingConstant>> by_type;
    for (const DifferingConstant& place : places)
      by_type[constant_of(place, cases_[0].block)->getType()].push_back(place);
    std::vector<std::pair<DifferingConstant, llvm::Value*>> values;
    for (const auto& [type, of_it] : by_type) {
      llvm::Value* loaded = row(b, type, of_it, index);
      for (unsigned i = 0; i < of_it.size(); ++i) values.emplace_back(of_it[i], b.CreateExtractElement(loaded, i));
    }
    BasicBlock* first = cases_[0].block;
    for (const auto& [place, value] : values) {
      if (auto* phi = llvm::dyn_cast<llvm::PHINode>(place.user)) {
        phi->setIncomingValueForBlock(first, value);
      } else {
        place.user->setOperand(place.operand, value);
      }
    }
    llvm::SmallVector<BasicBlock*> gone;
    for (const Case& one : llvm::drop_begin(cases_)) {
      choice_.findCaseValue(one.value)->setSuccessor(first);
      if (!llvm::is_contained(gone, one.block)) gone.push_back(one.block);
    }
    llvm::DeleteDeadBlocks(gone);
  }

  llvm::SwitchInst& choice_;
  BasicBlock* next_ = nullptr;
  std::vector<Case> cases_;
  std::int64_t lowest_ = 0;
  std::int64_t highest_ = 0;
};

}  // namespace

void merge_switch_cases(llvm::Module& module) {
  for (llvm::Function& function : module) {
    llvm::SmallVector<llvm::SwitchInst*> choices;
    for (Instruction& instruction : llvm::instructions(function)) {
      if (auto* choice = llvm::dyn_cast<llvm::SwitchInst>(&instruction)) choices.push_back(choice);
    }
    for (llvm::SwitchInst* choice : choices) Joiner(*choice).run();
  }
}

}  // namespace anymps::metal::lower::transform
