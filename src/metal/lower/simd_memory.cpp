// Accesses to memory: together where lanes go to neighbouring places, by instructions that gather where the CPU has
// them, and in turn otherwise.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Module.h>

#include "metal/lower/simd_writer.h"

namespace anymps::metal::lower::simd {
namespace {

using Kind = Shape::Kind;

// So many accesses one after the other are shorter than a loop.
constexpr unsigned kFew = 8;

}  // namespace

struct Writer::Access {
  const llvm::Instruction& original;
  Leaves leaves;
  std::uint64_t element;  // bytes of a leaf
  bool regular;           // leaves of one type, side by side
  Vectors values;         // to store; none for a load
  bool store;
  llvm::Align align;

  unsigned count() const { return static_cast<unsigned>(leaves.size()); }
  llvm::Type* type() const { return leaves[0].type; }
  llvm::Align align_of(const Leaf& leaf) const { return llvm::commonAlignment(align, leaf.offset); }
};

void Writer::keep_metadata(llvm::Value* written, const llvm::Instruction& original) {
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(written);
  if (instruction == nullptr) return;
  instruction->copyMetadata(original, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias,
                                       llvm::LLVMContext::MD_invariant_load});
}

// A thread's own variable, which is there for every lane.
bool Writer::is_own(const llvm::Value* pointer) const {
  return llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(pointer, /*MaxLookup=*/0));
}

bool Writer::native_mask(llvm::Type* type) const {
  return layout_.getTypeStoreSize(type) >= 4 ? abilities_.masked_words : abilities_.masked_bytes;
}

void Writer::write_access(const llvm::Instruction& access) {
  const llvm::Value* pointer = llvm::getLoadStorePointerOperand(&access);
  const bool store = llvm::isa<llvm::StoreInst>(access);
  const Shape shape = facts_.shape(pointer);
  llvm::Type* type = store ? access.getOperand(0)->getType() : access.getType();
  const llvm::Align align =
      store ? llvm::cast<llvm::StoreInst>(access).getAlign() : llvm::cast<llvm::LoadInst>(access).getAlign();
  if (access.isAtomic() || access.isVolatile()) {
    if (!store && facts_.uniform(&access)) return define(access, clone_scalar(access));
    return write_serially(access);
  }
  if (shape.kind == Kind::kUniform) {
    if (!store) return define(access, clone_scalar(access));
    if (facts_.uniform(access.getOperand(0))) {
      clone_scalar(access);
      return;
    }
  }
  Access how{access, leaves_of(type, layout_), 0, true, {}, store, align};
  if (store) how.values = vectors(access.getOperand(0));
  how.element = layout_.getTypeStoreSize(how.type());
  for (unsigned i = 0; i < how.count(); ++i) {
    if (how.leaves[i].type->isIntegerTy() && how.leaves[i].type->getIntegerBitWidth() % 8 != 0) {
      throw Decline{"single bits in memory"};
    }
    how.regular &= how.leaves[i].type == how.type() && how.leaves[i].offset == i * how.element;
  }
  if (shape.kind == Kind::kUniform) return store_by_last_lane(how, pointer);
  Vectors result;
  const auto together = static_cast<std::int64_t>(how.count() * how.element);
  const bool may_be_together =
      shape.kind == Kind::kAffine && how.regular && (shape.step.by != nullptr || shape.step.times == together);
  if (may_be_together && mask_ != nullptr && shape.step.by == nullptr && facts_.checks(pointer).empty() &&
      is_own(pointer)) {
    // Lanes that take no part have a place there too, in which nothing may change.
    if (store) {
      Access before{access, how.leaves, how.element, true, {}, false, align};
      const Vectors old = access_together(before, pointer, nullptr);
      for (unsigned i = 0; i < how.count(); ++i) how.values[i] = b_.CreateSelect(mask_, how.values[i], old[i]);
    }
    result = access_together(how, pointer, nullptr);
  } else if (!may_be_together) {
    result = access_apart(how, pointer, mask_);
  } else if (mask_ == nullptr || (how.count() == 1 && native_mask(how.type()))) {
    llvm::Value* condition = holds(pointer);
    if (shape.step.by != nullptr) {
      llvm::Value* step = b_.CreateICmpEQ(step_of(pointer, b_.getInt64Ty()), b_.getInt64(together));
      condition = condition != nullptr ? b_.CreateAnd(condition, step) : step;
    }
    if (condition == nullptr) {
      result = access_together(how, pointer, mask_);
    } else {
      result = either(
          condition, how, [&] { return access_together(how, pointer, mask_); },
          [&] { return access_apart(how, pointer, mask_); });
    }
  } else {
    llvm::Value* condition = b_.CreateAndReduce(mask_);
    if (llvm::Value* checked = holds(pointer)) condition = b_.CreateAnd(condition, checked);
    if (shape.step.by != nullptr) {
      condition = b_.CreateAnd(condition, b_.CreateICmpEQ(step_of(pointer, b_.getInt64Ty()), b_.getInt64(together)));
    }
    result = either(
        condition, how, [&] { return access_together(how, pointer, nullptr); },
        [&] { return access_apart(how, pointer, mask_); });
  }
  if (!store) define(access, result);
}

// Whether an affine pointer is that, in this round; null where nothing needs to be asked.
llvm::Value* Writer::holds(const llvm::Value* pointer) {
  llvm::Value* all = nullptr;
  for (const llvm::Instruction* widening : facts_.checks(pointer)) {
    llvm::Value*& fine = asked_[widening];
    if (fine == nullptr) {
      llvm::AllocaInst*& place = asked_variables_[widening];
      if (place == nullptr) place = variable(b_.getInt1Ty());
      fine = b_.CreateLoad(b_.getInt1Ty(), place);
    }
    all = all == nullptr ? fine : b_.CreateAnd(all, fine);
  }
  return all;
}

Vectors Writer::either(llvm::Value* condition, const Access& access, llvm::function_ref<Vectors()> likely,
                       llvm::function_ref<Vectors()> otherwise) {
  llvm::BasicBlock* sides[2] = {block("together"), block("apart")};
  llvm::BasicBlock* join = block("accessed");
  b_.CreateCondBr(condition, sides[0], sides[1]);
  Vectors results[2];
  llvm::BasicBlock* ends[2];
  // What one side computes is not there on the other, nor behind both.
  const auto scalars = scalars_;
  const auto vectors = vectors_;
  const auto asked = asked_;
  for (unsigned i = 0; i < 2; ++i) {
    b_.SetInsertPoint(sides[i]);
    results[i] = i == 0 ? likely() : otherwise();
    ends[i] = b_.GetInsertBlock();
    b_.CreateBr(join);
    scalars_ = scalars;
    vectors_ = vectors;
    asked_ = asked;
  }
  b_.SetInsertPoint(join);
  Vectors merged;
  for (unsigned i = 0; i < results[0].size(); ++i) {
    llvm::PHINode* phi = b_.CreatePHI(results[0][i]->getType(), 2);
    for (unsigned side = 0; side < 2; ++side) phi->addIncoming(results[side][i], ends[side]);
    merged.push_back(phi);
  }
  return merged;
}

// One wide access.
Vectors Writer::access_together(const Access& access, const llvm::Value* pointer, llvm::Value* mask) {
  llvm::Value* place = scalar(pointer);
  llvm::Type* type = llvm::FixedVectorType::get(access.type(), lanes_ * access.count());
  const llvm::Align align = llvm::commonAlignment(access.align, access.element);
  if (access.store) {
    llvm::Value* all = interleave(access.values);
    llvm::Value* written = mask != nullptr ? b_.CreateMaskedStore(all, place, align, mask)
                                           : static_cast<llvm::Value*>(b_.CreateAlignedStore(all, place, align));
    keep_metadata(written, access.original);
    return {};
  }
  llvm::Value* wide = mask != nullptr ? b_.CreateMaskedLoad(type, place, align, mask)
                                      : static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, place, align));
  keep_metadata(wide, access.original);
  Vectors result;
  for (unsigned i = 0; i < access.count(); ++i) result.push_back(every(wide, access.count(), i));
  return result;
}

Vectors Writer::access_apart(const Access& access, const llvm::Value* pointer, llvm::Value* mask) {
  const bool words = access.element == 4 || access.element == 8;
  const bool native = access.regular && words && (access.store ? abilities_.scatter : abilities_.gather);
  if (!native) {
    // Without a mask each lane's access is an instruction of its own; with one that would be as many branches.
    if (mask != nullptr) return access_in_turn(access, pointer);
    const Shape shape = facts_.shape(pointer);
    if (shape.kind == Kind::kAffine) {
      llvm::Value* condition = holds(pointer);
      if (condition == nullptr) return access_with_step(access, pointer);
      // That an index wraps is rare, and the shorter code is enough for it.
      if (shape.step.by == nullptr && lanes_ > kFew) {
        const auto together = static_cast<std::int64_t>(access.count() * access.element);
        if (access.regular && shape.step.times == together) return access_in_turn(access, pointer);
        return either(
            condition, access, [&] { return access_with_step(access, pointer); },
            [&] { return access_in_turn(access, pointer); });
      }
    }
  }
  llvm::Value* places = vector(pointer);
  Vectors result;
  for (unsigned i = 0; i < access.count(); ++i) {
    const Leaf& leaf = access.leaves[i];
    llvm::Value* place = leaf.offset != 0 ? b_.CreateGEP(b_.getInt8Ty(), places, b_.getInt64(leaf.offset)) : places;
    llvm::Value* lanes = mask != nullptr ? mask : whole_mask();
    if (access.store) {
      keep_metadata(b_.CreateMaskedScatter(access.values[i], place, access.align_of(leaf), lanes), access.original);
    } else {
      result.push_back(b_.CreateMaskedGather(lanes_of(leaf.type), place, access.align_of(leaf), lanes));
      keep_metadata(result.back(), access.original);
    }
  }
  return result;
}

// One access after the other, to addresses that need no vector.
Vectors Writer::access_with_step(const Access& access, const llvm::Value* pointer) {
  llvm::Value* place = scalar(pointer);
  llvm::Value* step = step_of(pointer, b_.getInt64Ty());
  Vectors result;
  for (const Leaf& leaf : access.leaves) result.push_back(llvm::PoisonValue::get(lanes_of(leaf.type)));
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    for (unsigned i = 0; i < access.count(); ++i) {
      const Leaf& leaf = access.leaves[i];
      llvm::Value* at = leaf.offset != 0 ? b_.CreateConstGEP1_64(b_.getInt8Ty(), place, leaf.offset) : place;
      if (access.store) {
        keep_metadata(b_.CreateAlignedStore(b_.CreateExtractElement(access.values[i], lane), at, access.align_of(leaf)),
                      access.original);
      } else {
        llvm::Value* one = b_.CreateAlignedLoad(leaf.type, at, access.align_of(leaf));
        keep_metadata(one, access.original);
        result[i] = b_.CreateInsertElement(result[i], one, lane);
      }
    }
    if (lane + 1 < lanes_) place = b_.CreateGEP(b_.getInt8Ty(), place, step);
  }
  return access.store ? Vectors() : result;
}

Vectors Writer::access_in_turn(const Access& access, const llvm::Value* pointer) {
  llvm::SmallVector<llvm::Value*> inputs = {vector(pointer)};
  llvm::SmallVector<llvm::AllocaInst*> results;
  if (access.store) {
    inputs.append(access.values.begin(), access.values.end());
  } else {
    for (const Leaf& leaf : access.leaves) {
      results.push_back(variable(lanes_of(leaf.type)));
      b_.CreateStore(llvm::Constant::getNullValue(lanes_of(leaf.type)), results.back());
    }
    inputs.push_back(counted(b_.getInt64Ty()));
  }
  lane_by_lane(b_.getVoidTy(), inputs, [&](llvm::ArrayRef<llvm::Value*> elements) -> llvm::Value* {
    for (unsigned i = 0; i < access.count(); ++i) {
      const Leaf& leaf = access.leaves[i];
      llvm::Value* at = b_.CreateConstGEP1_64(b_.getInt8Ty(), elements[0], leaf.offset);
      if (access.store) {
        keep_metadata(b_.CreateAlignedStore(elements[1 + i], at, access.align_of(leaf)), access.original);
      } else {
        llvm::Value* one = b_.CreateAlignedLoad(leaf.type, at, access.align_of(leaf));
        keep_metadata(one, access.original);
        b_.CreateStore(one, b_.CreateGEP(leaf.type, results[i], elements[1]));
      }
    }
    return nullptr;
  });
  Vectors taken;
  for (llvm::AllocaInst* place : results) taken.push_back(b_.CreateLoad(place->getAllocatedType(), place));
  return taken;
}

// Lanes that write to one place: the last one's value stays.
void Writer::store_by_last_lane(const Access& access, const llvm::Value* pointer) {
  llvm::Value* last = b_.getInt32(lanes_ - 1);
  if (mask_ != nullptr) {
    llvm::Value* zeros = b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, bits(mask_), b_.getFalse());
    last = b_.CreateAnd(b_.CreateSub(b_.getIntN(lanes_, lanes_ - 1), zeros), lanes_ - 1);
  }
  for (unsigned i = 0; i < access.count(); ++i) {
    const Leaf& leaf = access.leaves[i];
    llvm::Value* at = b_.CreateConstGEP1_64(b_.getInt8Ty(), scalar(pointer), leaf.offset);
    keep_metadata(b_.CreateAlignedStore(b_.CreateExtractElement(access.values[i], last), at, access.align_of(leaf)),
                  access.original);
  }
}

}  // namespace anymps::metal::lower::simd
