// Values: one for all lanes, or one for each.
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using Kind = Shape::Kind;

void add_leaves(llvm::Type* type, const llvm::DataLayout& layout, std::uint64_t offset, Leaves& leaves) {
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    const std::uint64_t size = layout.getTypeStoreSize(vector->getElementType());
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      leaves.push_back({vector->getElementType(), offset + i * size});
    }
  } else if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    const llvm::StructLayout* places = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i) {
      add_leaves(structure->getElementType(i), layout, offset + places->getElementOffset(i), leaves);
    }
  } else if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    const std::uint64_t size = layout.getTypeAllocSize(array->getElementType());
    for (unsigned i = 0; i < array->getNumElements(); ++i) {
      add_leaves(array->getElementType(), layout, offset + i * size, leaves);
    }
  } else {
    leaves.push_back({type, offset});
  }
}

}  // namespace

Leaves leaves_of(llvm::Type* type, const llvm::DataLayout& layout) {
  Leaves leaves;
  add_leaves(type, layout, 0, leaves);
  if (leaves.size() > 64) throw CannotVectorize{"a value of more than 64 parts"};
  return leaves;
}

Writer::Writer(const Thread& thread, const Divergence& divergence, const Abilities& abilities,
               const Surroundings& surroundings, llvm::Function& into, llvm::ArrayRef<llvm::Value*> arguments,
               llvm::Value* active)
    : thread_(thread),
      divergence_(divergence),
      abilities_(abilities),
      surroundings_(surroundings),
      into_(into),
      active_(active),
      lanes_(thread.lanes),
      layout_(into.getParent()->getDataLayout()),
      context_(into.getContext()),
      b_(into.getContext()) {
  for (unsigned i = 0; i < arguments.size(); ++i) arguments_[thread.function->getArg(i)] = arguments[i];
  // Steps, and what an affine value is made of, are asked for where that value is used.
  for (const llvm::Instruction& instruction : llvm::instructions(*thread.function)) {
    if (const llvm::Value* by = divergence.shape(&instruction).step.by) wanted_.insert(by);
    if (!divergence.checks(&instruction).empty()) wanted_.insert(instruction.op_begin(), instruction.op_end());
  }
  // So is what a condition is made of, users before what they use.
  for (const llvm::BasicBlock& block : llvm::reverse(*thread.function)) {
    for (const llvm::Instruction& instruction : llvm::reverse(block)) {
      if (instruction.getType()->isIntegerTy(1) && !divergence.uniform(&instruction) && leaves_its_block(instruction)) {
        wanted_.insert(instruction.op_begin(), instruction.op_end());
      }
    }
  }
}

llvm::Constant* Writer::counted(llvm::Type* type, std::int64_t step) const {
  llvm::SmallVector<llvm::Constant*> numbers;
  for (unsigned i = 0; i < lanes_; ++i) {
    numbers.push_back(llvm::ConstantInt::getSigned(type, static_cast<std::int64_t>(i) * step));
  }
  return llvm::ConstantVector::get(numbers);
}

llvm::Type* Writer::kept_type(llvm::Type* type) const {
  if (abilities_.bit_masks || !type->isVectorTy() || !type->getScalarType()->isIntegerTy(1)) return type;
  return lanes_of(llvm::Type::getInt32Ty(context_));
}

void Writer::keep(llvm::Value* value, llvm::AllocaInst* place) {
  llvm::Type* type = place->getAllocatedType();
  b_.CreateStore(value->getType() == type ? value : b_.CreateSExt(value, type), place);
}

llvm::Value* Writer::kept(llvm::Type* type, llvm::AllocaInst* place) {
  llvm::Value* value = b_.CreateLoad(place->getAllocatedType(), place);
  if (value->getType() == type) return value;
  return b_.CreateICmpSLT(value, llvm::Constant::getNullValue(value->getType()));
}

llvm::AllocaInst* Writer::variable(llvm::Type* type) {
  llvm::BasicBlock& first = into_.getEntryBlock();
  return llvm::IRBuilder<>(&first, first.begin()).CreateAlloca(type);
}

llvm::Value* Writer::scalar(const llvm::Value* value) {
  if (value == thread_.lane()) return llvm::ConstantInt::get(value->getType(), 0);
  if (const auto argument = arguments_.find(value); argument != arguments_.end()) return argument->second;
  if (llvm::isa<llvm::Constant, llvm::MetadataAsValue>(value)) return const_cast<llvm::Value*>(value);
  if (llvm::Value* own = shared_.lookup(value)) return own;
  if (llvm::Value* known = scalars_.lookup(value)) return known;
  if (divergence_.shape(value).kind == Kind::kVarying) throw CannotVectorize{"one value wanted where lanes differ"};
  llvm::AllocaInst*& place = scalar_variables_[value];
  if (place == nullptr) place = variable(value->getType());
  return scalars_[value] = b_.CreateLoad(value->getType(), place);
}

void Writer::split(llvm::Value* value, Vectors& out) {
  llvm::Type* type = value->getType();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) {
    for (unsigned i = 0; i < vector->getNumElements(); ++i) out.push_back(b_.CreateExtractElement(value, i));
  } else if (type->isAggregateType()) {
    const unsigned count =
        type->isStructTy() ? type->getStructNumElements() : static_cast<unsigned>(type->getArrayNumElements());
    for (unsigned i = 0; i < count; ++i) split(b_.CreateExtractValue(value, i), out);
  } else {
    out.push_back(value);
  }
}

llvm::Value* Writer::step_of(const llvm::Value* value, llvm::Type* type) {
  const Step step = divergence_.shape(value).step;
  llvm::Value* times = llvm::ConstantInt::getSigned(type, step.times);
  if (step.by == nullptr) return times;
  llvm::Value* by = scalar(step.by);
  by = step.widened == Step::Widened::kUnsigned ? b_.CreateZExtOrTrunc(by, type) : b_.CreateSExtOrTrunc(by, type);
  return b_.CreateMul(times, by);
}

// Computed where they are asked for: most never are.
Vectors Writer::affine_vectors(const llvm::Value* value) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction != nullptr && !divergence_.checks(value).empty()) return compute(*instruction);
  llvm::Type* type = value->getType();
  if (value == thread_.lane()) return {counted(type)};
  llvm::Value* first = scalar(value);
  const bool pointer = type->isPointerTy();
  llvm::Type* number = pointer ? b_.getInt64Ty() : type;
  llvm::Value* offsets = nullptr;
  if (divergence_.shape(value).step.by == nullptr) {
    offsets = counted(number, divergence_.shape(value).step.times);
  } else {
    offsets = b_.CreateMul(b_.CreateVectorSplat(lanes_, step_of(value, number)), counted(number));
  }
  if (pointer) return {b_.CreateGEP(b_.getInt8Ty(), first, offsets)};
  return {b_.CreateAdd(b_.CreateVectorSplat(lanes_, first), offsets)};
}

Vectors Writer::vectors(const llvm::Value* value) {
  if (const auto known = vectors_.find(value); known != vectors_.end()) return known->second;
  Vectors result;
  switch (divergence_.shape(value).kind) {
    case Kind::kUniform: {
      Vectors parts;
      split(scalar(value), parts);
      for (llvm::Value* part : parts) result.push_back(b_.CreateVectorSplat(lanes_, part));
      break;
    }
    case Kind::kAffine:
      result = affine_vectors(value);
      break;
    case Kind::kVarying: {
      auto& places = vector_variables_[value];
      if (places.empty()) {
        for (const Leaf& leaf : leaves_of(value->getType(), layout_)) {
          places.push_back(variable(kept_type(lanes_of(leaf.type))));
        }
      }
      const Leaves leaves = leaves_of(value->getType(), layout_);
      for (unsigned i = 0; i < places.size(); ++i) result.push_back(kept(lanes_of(leaves[i].type), places[i]));
      break;
    }
  }
  vectors_[value] = result;
  return result;
}

llvm::Value* Writer::vector(const llvm::Value* value) {
  const Vectors all = vectors(value);
  if (all.size() != 1) throw CannotVectorize{"a thread's vector where a number is expected"};
  return all[0];
}

bool Writer::leaves_its_block(const llvm::Instruction& instruction) const {
  if (wanted_.contains(&instruction)) return true;
  return llvm::any_of(instruction.uses(), [&](const llvm::Use& use) {
    const auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    const auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    return (phi != nullptr ? phi->getIncomingBlock(use) : user->getParent()) != instruction.getParent();
  });
}

void Writer::define(const llvm::Instruction& instruction, llvm::Value* scalar) {
  scalars_[&instruction] = scalar;
  if (!leaves_its_block(instruction)) return;
  llvm::AllocaInst*& place = scalar_variables_[&instruction];
  if (place == nullptr) place = variable(scalar->getType());
  b_.CreateStore(scalar, place);
}

void Writer::define(const llvm::Instruction& instruction, const Vectors& vectors) {
  if (leaves_its_block(instruction)) {
    auto& places = vector_variables_[&instruction];
    if (places.empty()) {
      for (llvm::Value* part : vectors) places.push_back(variable(kept_type(part->getType())));
    }
    for (unsigned i = 0; i < vectors.size(); ++i) keep(vectors[i], places[i]);
  }
  vectors_[&instruction] = vectors;
}

llvm::Value* Writer::lane_by_lane(llvm::Type* result, llvm::ArrayRef<llvm::Value*> inputs, LaneBody body) {
  // Single bits are not apart from each other in memory.
  const auto stored = [&](llvm::Type* type) { return type->isIntegerTy(1) ? b_.getInt8Ty() : type; };
  llvm::SmallVector<llvm::AllocaInst*> places;
  for (llvm::Value* input : inputs) {
    llvm::Type* element = input->getType()->getScalarType();
    if (element->isIntegerTy(1)) input = b_.CreateZExt(input, lanes_of(b_.getInt8Ty()));
    places.push_back(variable(input->getType()));
    b_.CreateStore(input, places.back());
  }
  llvm::AllocaInst* results = nullptr;
  if (!result->isVoidTy()) {
    results = variable(lanes_of(stored(result)));
    b_.CreateStore(llvm::Constant::getNullValue(results->getAllocatedType()), results);
  }
  llvm::Type* set = b_.getIntNTy(lanes_);
  llvm::Value* all = mask_ != nullptr ? bits(mask_) : llvm::Constant::getAllOnesValue(set);
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* loop = block("lane");
  llvm::BasicBlock* done = block("lanes");
  b_.CreateCondBr(b_.CreateIsNotNull(all), loop, done);
  b_.SetInsertPoint(loop);
  llvm::PHINode* left = b_.CreatePHI(set, 2);
  left->addIncoming(all, before);
  llvm::Value* lane =
      b_.CreateZExtOrTrunc(b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b_.getTrue()), b_.getInt64Ty());
  llvm::SmallVector<llvm::Value*> elements;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    llvm::Type* element = inputs[i]->getType()->getScalarType();
    llvm::Value* one = b_.CreateLoad(stored(element), b_.CreateGEP(stored(element), places[i], lane));
    elements.push_back(element->isIntegerTy(1) ? b_.CreateTrunc(one, element) : one);
  }
  llvm::Value* value = body(elements);
  if (results != nullptr) {
    if (result->isIntegerTy(1)) value = b_.CreateZExt(value, b_.getInt8Ty());
    b_.CreateStore(value, b_.CreateGEP(stored(result), results, lane));
  }
  llvm::Value* next = b_.CreateAnd(left, b_.CreateSub(left, llvm::ConstantInt::get(set, 1)));
  left->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateIsNotNull(next), loop, done);
  b_.SetInsertPoint(done);
  if (results == nullptr) return nullptr;
  llvm::Value* taken = b_.CreateLoad(results->getAllocatedType(), results);
  return result->isIntegerTy(1) ? b_.CreateTrunc(taken, mask_type()) : taken;
}

}  // namespace anymps::metal::lower::vectorize
