// What a thread computes, for all lanes at once.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "metal/air/signature.h"
#include "metal/lower/builtins/builtin_lowering.h"
#include "metal/lower/support/counted_loop.h"
#include "metal/lower/support/interleaving.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using llvm::Instruction;
using Kind = Shape::Kind;

// About the code, not in it.
bool says_nothing(const Instruction& instruction) {
  if (instruction.isLifetimeStartOrEnd()) return true;
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  if (intrinsic == nullptr) return false;
  switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
      return true;
    default:
      return llvm::isa<llvm::DbgInfoIntrinsic>(intrinsic);
  }
}

std::string called_name(const llvm::CallInst& call) {
  return call.getCalledFunction() != nullptr ? call.getCalledFunction()->getName().str() : "a pointer";
}

// A threadgroup's memory is seen by one thread of the CPU alone: what is atomic there need not be atomic here.
llvm::Value* without_others(llvm::IRBuilder<>& b, llvm::AtomicRMWInst& change) {
  if (change.getPointerAddressSpace() != air::kThreadgroupSpace) return &change;
  llvm::Value* before = b.CreateAlignedLoad(change.getType(), change.getPointerOperand(), change.getAlign());
  llvm::Value* after = llvm::buildAtomicRMWValue(change.getOperation(), b, before, change.getValOperand());
  b.CreateAlignedStore(after, change.getPointerOperand(), change.getAlign());
  change.eraseFromParent();
  return before;
}

}  // namespace

void Writer::write_instruction(const Instruction& instruction) {
  if (says_nothing(instruction)) return;
  if (const llvm::CallInst* call = builtins::cooperative_call(instruction)) {
    if (!write_cooperative_op(*call)) throw CannotVectorize{"a call of " + called_name(*call)};
    return;
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      call != nullptr && surroundings_.parts != nullptr) {
    for (const auto& part : *surroundings_.parts) {
      if (call->getCalledFunction() == part->call) return write_part(*call, *part);
    }
  }
  if (const auto* own = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
    llvm::AllocaInst* place = variable(own->getAllocatedType());
    place->setAlignment(own->getAlign());
    shared_[own] = place;
    return;
  }
  if (llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction)) return serialise(instruction);
  if (llvm::isa<llvm::FenceInst>(instruction)) {
    b_.Insert(instruction.clone());
    return;
  }
  if (llvm::isa<llvm::LoadInst, llvm::StoreInst>(instruction)) return write_access(instruction);
  const bool uniform_operands = llvm::all_of(instruction.operands(), [&](const llvm::Use& use) {
    return llvm::isa<llvm::Function>(use) || divergence_.uniform(use);
  });
  if (instruction.mayWriteToMemory() || instruction.getType()->isVoidTy()) {
    if (uniform_operands && llvm::isa<llvm::MemIntrinsic>(instruction)) {
      clone_scalar(instruction);
      return;
    }
    return serialise(instruction);
  }
  switch (divergence_.shape(&instruction).kind) {
    case Kind::kUniform:
      return define(instruction, clone_scalar(instruction));
    case Kind::kAffine:
      if (divergence_.checks(&instruction).contains(&instruction)) write_check(instruction);
      return define(instruction, clone_scalar(instruction));
    case Kind::kVarying:
      return define(instruction, compute(instruction));
  }
}

// Whether the narrow number goes from the first lane to the last without wrapping.
void Writer::write_check(const Instruction& widening) {
  const llvm::Value* narrow = widening.getOperand(0);
  const unsigned width = narrow->getType()->getIntegerBitWidth();
  const bool is_signed = widening.getOpcode() == Instruction::SExt;
  llvm::Type* wide = b_.getInt64Ty();
  llvm::Value* first = is_signed ? b_.CreateSExt(scalar(narrow), wide) : b_.CreateZExt(scalar(narrow), wide);
  const Step step = divergence_.shape(narrow).step;
  llvm::Value* stride = llvm::ConstantInt::getSigned(wide, step.times);
  if (step.by != nullptr) {
    llvm::Value* by = scalar(step.by);
    stride = b_.CreateMul(stride, is_signed ? b_.CreateSExt(by, wide) : b_.CreateZExt(by, wide));
  }
  llvm::Value* last = b_.CreateAdd(first, b_.CreateMul(stride, b_.getInt64(lanes_ - 1)));
  if (is_signed) last = b_.CreateAdd(last, b_.getInt64(std::uint64_t{1} << (width - 1)));
  llvm::Value* fine = b_.CreateICmpULT(last, b_.getInt64(std::uint64_t{1} << width));
  asked_[&widening] = fine;
  llvm::AllocaInst*& place = asked_variables_[&widening];
  if (place == nullptr) place = variable(b_.getInt1Ty());
  b_.CreateStore(fine, place);
}

// What lanes differ in goes through memory; then some lanes at a time run it.
void Writer::write_part(const llvm::CallInst& call, const OutlinedRegion& part) {
  llvm::AllocaInst* memory = variable(llvm::ArrayType::get(b_.getInt8Ty(), part.bytes));
  memory->setAlignment(OutlinedRegion::kAlignment);
  auto row = part.rows.begin();
  const auto next_row = [&] {
    const OutlinedRegion::Row& here = *row++;
    return std::pair(lanes_of(here.type), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), memory, here.offset));
  };
  const auto put = [&](llvm::Value* value) {
    const auto [type, place] = next_row();
    b_.CreateAlignedStore(value->getType() == type ? value : b_.CreateZExt(value, type), place,
                          OutlinedRegion::kAlignment);
  };
  b_.CreateLifetimeStart(memory);
  for (unsigned i = 0; i < part.inputs.size(); ++i) {
    if (part.inputs[i] != Kind::kVarying) continue;
    for (llvm::Value* leaf : vectors(call.getArgOperand(i))) put(leaf);
  }
  if (part.masked) {
    put(mask_or_whole());
  } else if (mask_ != nullptr) {
    throw CannotVectorize{"a part of which lanes are missing"};
  }
  // Asked for before the loop: what is kept of them is used behind it too.
  llvm::SmallVector<std::pair<llvm::Value*, llvm::Value*>> firsts;  // with their steps; null where lanes share it
  for (unsigned i = 0; i < part.inputs.size(); ++i) {
    const llvm::Value* value = call.getArgOperand(i);
    if (part.inputs[i] == Kind::kVarying) continue;
    const bool affine = part.inputs[i] == Kind::kAffine;
    firsts.emplace_back(scalar(value), affine ? step_of(value, OutlinedRegion::step_type(value->getType())) : nullptr);
  }
  support::counted_loop(b_, b_.getInt32(0), b_.getInt32(lanes_), b_.getInt32(part.thread.lanes),
                        [&](llvm::Value* begin) {
                          llvm::SmallVector<llvm::Value*> given;
                          for (const auto& [first, step] : firsts) {
                            given.push_back(step != nullptr ? OutlinedRegion::at(b_, first, step, begin) : first);
                            if (step != nullptr) given.push_back(step);
                          }
                          given.append({memory, begin});
                          b_.CreateCall(part.lanes, given);
                        });
  Vectors results;
  for (const Leaf& leaf : leaves_of(call.getType(), layout_)) {
    const auto [type, place] = next_row();
    llvm::Value* value = b_.CreateAlignedLoad(type, place, OutlinedRegion::kAlignment);
    results.push_back(leaf.type == type->getElementType() ? value : b_.CreateTrunc(value, lanes_of(leaf.type)));
  }
  b_.CreateLifetimeEnd(memory);
  define(call, results);
}

llvm::Value* Writer::clone_scalar(const Instruction& instruction) {
  const bool affine = divergence_.shape(&instruction).kind == Kind::kAffine;
  // Of lane 0 as of the others: a sum, even where its bits would not allow to tell.
  if (affine && instruction.getOpcode() == Instruction::Or) {
    return b_.CreateAdd(scalar(instruction.getOperand(0)), scalar(instruction.getOperand(1)));
  }
  Instruction* copy = instruction.clone();
  for (llvm::Use& operand : copy->operands()) {
    if (!llvm::isa<llvm::Function>(operand)) operand.set(scalar(operand.get()));
  }
  // Lane 0 may not take part.
  if (affine) copy->dropPoisonGeneratingFlags();
  return b_.Insert(copy);
}

Vectors Writer::compute(const Instruction& instruction) {
  if (llvm::isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst, llvm::FreezeInst>(instruction)) {
    return compute_elementwise(instruction);
  }
  if (llvm::isa<llvm::BitCastInst>(instruction)) return compute_bitcast(instruction);
  if (llvm::isa<llvm::CastInst>(instruction)) return compute_elementwise(instruction);
  if (const auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) return compute_select(*select);
  if (const auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    const auto operand = [&](const llvm::Value* value) {
      return divergence_.uniform(value) ? scalar(value) : vector(value);
    };
    llvm::SmallVector<llvm::Value*> indices;
    llvm::Value* base = operand(address->getPointerOperand());
    for (const llvm::Use& index : address->indices()) indices.push_back(operand(index));
    llvm::Value* result = b_.CreateGEP(address->getSourceElementType(), base, indices);
    if (!result->getType()->isVectorTy()) result = b_.CreateVectorSplat(lanes_, result);
    return {result};
  }
  if (const auto* extract = llvm::dyn_cast<llvm::ExtractElementInst>(&instruction)) return compute_extract(*extract);
  if (const auto* insert = llvm::dyn_cast<llvm::InsertElementInst>(&instruction)) return compute_insert(*insert);
  if (const auto* shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction)) {
    const Vectors left = vectors(shuffle->getOperand(0));
    const Vectors right = vectors(shuffle->getOperand(1));
    Vectors result;
    for (const int from : shuffle->getShuffleMask()) {
      const auto at = static_cast<std::size_t>(from);
      if (from < 0) {
        result.push_back(llvm::PoisonValue::get(left[0]->getType()));
      } else {
        result.push_back(at < left.size() ? left[at] : right[at - left.size()]);
      }
    }
    return result;
  }
  if (llvm::isa<llvm::ExtractValueInst, llvm::InsertValueInst>(instruction)) return compute_member(instruction);
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return compute_call(*call);
  throw CannotVectorize{std::string("an instruction ") + instruction.getOpcodeName()};
}

Vectors Writer::compute_elementwise(const Instruction& instruction) {
  const Vectors left = vectors(instruction.getOperand(0));
  const Vectors right = instruction.getNumOperands() > 1 ? vectors(instruction.getOperand(1)) : Vectors();
  Vectors result;
  for (unsigned i = 0; i < left.size(); ++i) {
    llvm::Value* value = nullptr;
    if (const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) {
      value = binary->isIntDivRem() ? divide(*binary, left[i], right[i])
                                    : b_.CreateBinOp(binary->getOpcode(), left[i], right[i]);
    } else if (llvm::isa<llvm::UnaryOperator>(instruction)) {
      value = b_.CreateFNeg(left[i]);
    } else if (const auto* comparison = llvm::dyn_cast<llvm::CmpInst>(&instruction)) {
      value = b_.CreateCmp(comparison->getPredicate(), left[i], right[i]);
    } else if (llvm::isa<llvm::FreezeInst>(instruction)) {
      value = b_.CreateFreeze(left[i]);
    } else {
      value = b_.CreateCast(llvm::cast<llvm::CastInst>(instruction).getOpcode(), left[i],
                            lanes_of(instruction.getType()->getScalarType()));
    }
    auto* written = llvm::dyn_cast<Instruction>(value);
    if (written != nullptr && written->getOpcode() == instruction.getOpcode()) {
      written->copyIRFlags(&instruction);
      // What is affine is computed again where somebody asks, with operands of which nobody knows more.
      if (divergence_.shape(&instruction).kind == Kind::kAffine) written->dropPoisonGeneratingFlags();
    }
    result.push_back(value);
  }
  return result;
}

// No CPU divides vectors of integers. Those of 32 bits are divided as doubles, which is exact: two quotients that are
// not equal differ by 2^-32 of their size at least.
llvm::Value* Writer::divide(const llvm::BinaryOperator& division, llvm::Value* left, llvm::Value* right) {
  const Instruction::BinaryOps operation = division.getOpcode();
  const unsigned width = left->getType()->getScalarSizeInBits();
  const auto* divisor = llvm::dyn_cast<llvm::Constant>(right);
  if (width > 32 || (divisor != nullptr && divisor->getSplatValue() != nullptr)) {
    return b_.CreateBinOp(operation, left, right);
  }
  const bool is_signed = operation == Instruction::SDiv || operation == Instruction::SRem;
  const auto wide = [&](llvm::Value* value) {
    llvm::Type* type = lanes_of(b_.getDoubleTy());
    return is_signed ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  };
  llvm::Value* exact = b_.CreateFDiv(wide(left), wide(right));
  // A lane that takes no part may divide by zero; what it gets does not matter, but must be a number.
  llvm::Value* quotient = b_.CreateIntrinsic(is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat,
                                             {left->getType(), exact->getType()}, {exact});
  if (operation == Instruction::SDiv || operation == Instruction::UDiv) return quotient;
  return b_.CreateSub(left, b_.CreateMul(quotient, right));
}

Vectors Writer::compute_bitcast(const Instruction& instruction) {
  const Vectors parts = vectors(instruction.getOperand(0));
  const Leaves leaves = leaves_of(instruction.getType(), layout_);
  Vectors result;
  if (leaves.size() == parts.size()) {
    for (unsigned i = 0; i < parts.size(); ++i) result.push_back(b_.CreateBitCast(parts[i], lanes_of(leaves[i].type)));
    return result;
  }
  const auto count = static_cast<unsigned>(leaves.size());
  llvm::Value* wide =
      b_.CreateBitCast(support::interleave(b_, parts), llvm::FixedVectorType::get(leaves[0].type, lanes_ * count));
  for (unsigned i = 0; i < count; ++i) result.push_back(support::every(b_, wide, count, i));
  return result;
}

Vectors Writer::compute_select(const llvm::SelectInst& select) {
  const Vectors yes = vectors(select.getTrueValue());
  const Vectors no = vectors(select.getFalseValue());
  Vectors result;
  const llvm::Value* condition = select.getCondition();
  if (divergence_.uniform(condition) && !condition->getType()->isVectorTy()) {
    llvm::Value* one = scalar(condition);
    for (unsigned i = 0; i < yes.size(); ++i) result.push_back(b_.CreateSelect(one, yes[i], no[i]));
    return result;
  }
  const Vectors conditions = vectors(condition);
  for (unsigned i = 0; i < yes.size(); ++i) {
    result.push_back(b_.CreateSelect(conditions[conditions.size() == 1 ? 0 : i], yes[i], no[i]));
  }
  return result;
}

Vectors Writer::compute_extract(const llvm::ExtractElementInst& extract) {
  const Vectors parts = vectors(extract.getVectorOperand());
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(extract.getIndexOperand())) {
    return {parts[constant->getZExtValue()]};
  }
  llvm::Value* index = vector(extract.getIndexOperand());
  llvm::Value* result = parts[0];
  for (unsigned i = 1; i < parts.size(); ++i) {
    result = b_.CreateSelect(b_.CreateICmpEQ(index, llvm::ConstantInt::get(index->getType(), i)), parts[i], result);
  }
  return {result};
}

Vectors Writer::compute_insert(const llvm::InsertElementInst& insert) {
  Vectors parts = vectors(insert.getOperand(0));
  llvm::Value* value = vector(insert.getOperand(1));
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(insert.getOperand(2))) {
    parts[constant->getZExtValue()] = value;
    return parts;
  }
  llvm::Value* index = vector(insert.getOperand(2));
  for (unsigned i = 0; i < parts.size(); ++i) {
    parts[i] = b_.CreateSelect(b_.CreateICmpEQ(index, llvm::ConstantInt::get(index->getType(), i)), value, parts[i]);
  }
  return parts;
}

Vectors Writer::compute_member(const Instruction& instruction) {
  Vectors parts = vectors(instruction.getOperand(0));
  const auto* extract = llvm::dyn_cast<llvm::ExtractValueInst>(&instruction);
  const llvm::ArrayRef<unsigned> indices =
      extract != nullptr ? extract->getIndices() : llvm::cast<llvm::InsertValueInst>(instruction).getIndices();
  llvm::Type* type = instruction.getOperand(0)->getType();
  std::size_t first = 0;
  const auto member = [](llvm::Type* whole, unsigned i) {
    return whole->isStructTy() ? whole->getStructElementType(i) : whole->getArrayElementType();
  };
  for (const unsigned index : indices) {
    for (unsigned i = 0; i < index; ++i) first += leaves_of(member(type, i), layout_).size();
    type = member(type, index);
  }
  if (extract != nullptr) {
    const std::size_t count = leaves_of(type, layout_).size();
    return {parts.begin() + first, parts.begin() + first + count};
  }
  const Vectors inserted = vectors(instruction.getOperand(1));
  std::copy(inserted.begin(), inserted.end(), parts.begin() + first);
  return parts;
}

Vectors Writer::compute_call(const llvm::CallInst& call) {
  const llvm::Function* function = call.getCalledFunction();
  if (function == nullptr) throw CannotVectorize{"a call of " + called_name(call)};
  const llvm::Intrinsic::ID id = function->getIntrinsicID();
  if (id != llvm::Intrinsic::not_intrinsic && llvm::isTriviallyVectorizable(id)) {
    std::vector<Vectors> operands(call.arg_size());
    std::size_t parts = 1;
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      if (llvm::isVectorIntrinsicWithScalarOpAtArg(id, i)) continue;
      operands[i] = vectors(call.getArgOperand(i));
      parts = operands[i].size();
    }
    Vectors result;
    for (std::size_t part = 0; part < parts; ++part) {
      llvm::SmallVector<llvm::Type*> types;
      llvm::SmallVector<llvm::Value*> values;
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1)) {
        types.push_back(lanes_of(call.getType()->getScalarType()));
      }
      for (unsigned i = 0; i < call.arg_size(); ++i) {
        const bool one = llvm::isVectorIntrinsicWithScalarOpAtArg(id, i);
        values.push_back(one ? scalar(call.getArgOperand(i)) : operands[i][part]);
        if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(i))) {
          types.push_back(values.back()->getType());
        }
      }
      llvm::CallInst* written = b_.CreateIntrinsic(id, types, values);
      if (llvm::isa<llvm::FPMathOperator>(written)) written->copyFastMathFlags(&call);
      result.push_back(written);
    }
    return result;
  }
  if (call.getType()->isVectorTy() || call.getType()->isAggregateType()) {
    throw CannotVectorize{"a call of " + called_name(call)};
  }
  llvm::SmallVector<llvm::Value*> inputs;
  for (const llvm::Use& argument : call.args()) inputs.push_back(vector(argument));
  return {lane_by_lane(call.getType(), inputs, [&](llvm::ArrayRef<llvm::Value*> elements) {
    auto* copy = llvm::cast<llvm::CallInst>(call.clone());
    for (unsigned i = 0; i < elements.size(); ++i) copy->setArgOperand(i, elements[i]);
    return b_.Insert(copy);
  })};
}

// Atomics, and whatever else has no form for many lanes: one lane after the other, in their order.
void Writer::serialise(const Instruction& instruction) {
  llvm::SmallVector<llvm::Value*> inputs;
  llvm::SmallVector<unsigned> places;
  for (const llvm::Use& operand : instruction.operands()) {
    if (llvm::isa<llvm::Function>(operand) || divergence_.uniform(operand)) continue;
    const Vectors parts = vectors(operand);
    if (parts.size() != 1) throw CannotVectorize{std::string("an instruction ") + instruction.getOpcodeName()};
    inputs.push_back(parts[0]);
    places.push_back(operand.getOperandNo());
  }
  // In front of the loop, where the block's other values are.
  llvm::SmallVector<std::pair<unsigned, llvm::Value*>> same;
  for (const llvm::Use& operand : instruction.operands()) {
    if (!llvm::isa<llvm::Function>(operand) && divergence_.uniform(operand)) {
      same.emplace_back(operand.getOperandNo(), scalar(operand));
    }
  }
  const Leaves leaves = instruction.getType()->isVoidTy() ? Leaves() : leaves_of(instruction.getType(), layout_);
  llvm::SmallVector<llvm::AllocaInst*> results;
  for (const Leaf& leaf : leaves) {
    llvm::Type* type = leaf.type->isIntegerTy(1) ? b_.getInt8Ty() : leaf.type;
    results.push_back(variable(lanes_of(type)));
    b_.CreateStore(llvm::Constant::getNullValue(lanes_of(type)), results.back());
  }
  inputs.push_back(counted(b_.getInt64Ty()));
  lane_by_lane(b_.getVoidTy(), inputs, [&](llvm::ArrayRef<llvm::Value*> elements) -> llvm::Value* {
    Instruction* copy = instruction.clone();
    for (unsigned i = 0; i < places.size(); ++i) copy->setOperand(places[i], elements[i]);
    for (const auto& [place, value] : same) copy->setOperand(place, value);
    llvm::Value* result = b_.Insert(copy);
    if (auto* change = llvm::dyn_cast<llvm::AtomicRMWInst>(copy)) result = without_others(b_, *change);
    Vectors parts;
    if (!results.empty()) split(result, parts);
    for (unsigned i = 0; i < parts.size(); ++i) {
      llvm::Value* part = parts[i];
      if (part->getType()->isIntegerTy(1)) part = b_.CreateZExt(part, b_.getInt8Ty());
      b_.CreateStore(part, b_.CreateGEP(part->getType(), results[i], elements.back()));
    }
    return nullptr;
  });
  if (results.empty()) return;
  Vectors taken;
  for (unsigned i = 0; i < results.size(); ++i) {
    llvm::Value* value = b_.CreateLoad(results[i]->getAllocatedType(), results[i]);
    taken.push_back(leaves[i].type->isIntegerTy(1) ? b_.CreateTrunc(value, mask_type()) : value);
  }
  if (divergence_.shape(&instruction).kind == Kind::kUniform) {
    // The same for all lanes that take part.
    throw CannotVectorize{std::string("a value of an instruction ") + instruction.getOpcodeName() +
                          " that lanes share"};
  }
  define(instruction, taken);
}

}  // namespace anymps::metal::lower::vectorize
