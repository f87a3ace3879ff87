// Accesses to memory: together where lanes go to neighbouring places, by instructions that gather where the CPU has
// them, and in turn otherwise.
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Module.h>

#include "metal/abi/cooperative_op.h"
#include "metal/air/signature.h"
#include "metal/lower/support/interleaving.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

using Kind = Shape::Kind;

// So many accesses one after the other are shorter than a loop.
constexpr unsigned kFewAccesses = 8;

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
  const Shape shape = divergence_.shape(pointer);
  llvm::Type* type = store ? access.getOperand(0)->getType() : access.getType();
  const llvm::Align align =
      store ? llvm::cast<llvm::StoreInst>(access).getAlign() : llvm::cast<llvm::LoadInst>(access).getAlign();
  if (access.isAtomic() || access.isVolatile()) {
    if (!store && divergence_.uniform(&access)) return define(access, clone_scalar(access));
    return serialise(access);
  }
  if (shape.kind == Kind::kUniform) {
    if (!store) return define(access, clone_scalar(access));
    if (divergence_.uniform(access.getOperand(0))) {
      clone_scalar(access);
      return;
    }
  }
  Access how{access, leaves_of(type, layout_), 0, true, {}, store, align};
  if (store) how.values = vectors(access.getOperand(0));
  how.element = layout_.getTypeStoreSize(how.type());
  for (unsigned i = 0; i < how.count(); ++i) {
    if (how.leaves[i].type->isIntegerTy() && how.leaves[i].type->getIntegerBitWidth() % 8 != 0) {
      throw CannotVectorize{"single bits in memory"};
    }
    how.regular &= how.leaves[i].type == how.type() && how.leaves[i].offset == i * how.element;
  }
  if (shape.kind == Kind::kUniform) return store_by_last_lane(how, pointer);
  const Vectors result = mask_ == nullptr ? access_by_all(how, pointer) : access_by_some(how, pointer);
  if (!store) define(access, result);
}

// Whether lanes go to neighbouring places, if at all known before the kernel runs: then `if_so` is what must hold
// there, or null.
bool Writer::may_be_together(const Access& access, const llvm::Value* pointer, llvm::Value*& if_so) {
  const Shape shape = divergence_.shape(pointer);
  const auto together = static_cast<std::int64_t>(access.count() * access.element);
  if (shape.kind != Kind::kAffine || !access.regular) return false;
  if (shape.step.by == nullptr && shape.step.times != together) return false;
  if_so = holds(pointer);
  if (shape.step.by == nullptr) return true;
  llvm::Value* step = b_.CreateICmpEQ(step_of(pointer, b_.getInt64Ty()), b_.getInt64(together));
  if_so = if_so != nullptr ? b_.CreateAnd(if_so, step) : step;
  return true;
}

Vectors Writer::access_by_all(const Access& access, const llvm::Value* pointer) {
  llvm::Value* if_so = nullptr;
  if (!may_be_together(access, pointer, if_so)) return access_apart(access, pointer, nullptr);
  const auto together = [&] { return access_together(access, pointer, nullptr); };
  if (if_so == nullptr) return together();
  return either(if_so, together, [&] { return access_apart(access, pointer, nullptr); });
}

Vectors Writer::access_by_some(Access& access, const llvm::Value* pointer) {
  llvm::Value* if_so = nullptr;
  const bool together = may_be_together(access, pointer, if_so);
  if (together && if_so == nullptr && is_own(pointer)) return access_around(access, pointer);
  if (together && access.count() == 1 && native_mask(access.type())) {
    const auto masked = [&] { return access_together(access, pointer, mask_); };
    if (if_so == nullptr) return masked();
    return either(if_so, masked, [&] { return access_apart(access, pointer, mask_); });
  }
  if (native_apart(access)) return access_apart(access, pointer, mask_);
  const auto in_turn = [&] { return access_in_turn(access, pointer); };
  llvm::Value* harmless = together ? reaches_nothing_else(access, pointer) : nullptr;
  if (harmless != nullptr) {
    if (if_so != nullptr) harmless = b_.CreateAnd(harmless, if_so);
    return either(harmless, [&] { return access_around(access, pointer); }, in_turn);
  }
  // Most often all lanes take part after all.
  return either(b_.CreateAndReduce(mask_), [&] { return access_by_all(access, pointer); }, in_turn);
}

// An access of all lanes for those that take part: what the others read is nobody's, and what lies at their places
// stays.
Vectors Writer::access_around(Access access, const llvm::Value* pointer) {
  if (access.store) {
    Access before = access;
    before.store = false;
    const Vectors old = access_together(before, pointer, nullptr);
    for (unsigned i = 0; i < access.count(); ++i) {
      access.values[i] = b_.CreateSelect(mask_, access.values[i], old[i]);
    }
  }
  return access_together(access, pointer, nullptr);
}

// Whether access_around() may go where only the lanes that take part should: a threadgroup's memory is this thread's of
// the CPU, and has a margin; elsewhere one may read what lies in the same page. Null where it may not.
llvm::Value* Writer::reaches_nothing_else(const Access& access, const llvm::Value* pointer) {
  constexpr std::uint64_t kPage = 4096;
  const std::uint64_t span = lanes_ * access.count() * access.element;
  if (span > abi::kThreadgroupMargin) return nullptr;
  llvm::Value* somebody = any(mask_);
  if (pointer->getType()->getPointerAddressSpace() == air::kThreadgroupSpace) return somebody;
  if (access.store) return nullptr;
  llvm::Value* first = b_.CreatePtrToInt(scalar(pointer), b_.getInt64Ty());
  llvm::Value* last = b_.CreateAdd(first, b_.getInt64(span - 1));
  llvm::Value* apart = b_.CreateXor(first, last);
  return b_.CreateAnd(somebody, b_.CreateICmpULT(apart, b_.getInt64(kPage)));
}

bool Writer::native_apart(const Access& access) const {
  const bool words = access.element == 4 || access.element == 8;
  return access.regular && words && (access.store ? abilities_.scatter : abilities_.gather);
}

// Whether an affine pointer is that, in this iteration; null where nothing needs to be asked.
llvm::Value* Writer::holds(const llvm::Value* pointer) {
  llvm::Value* all = nullptr;
  for (const llvm::Instruction* widening : divergence_.checks(pointer)) {
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

Vectors Writer::either(llvm::Value* condition, llvm::function_ref<Vectors()> likely,
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
    llvm::Value* all = support::interleave(b_, access.values);
    llvm::Value* written = mask != nullptr ? b_.CreateMaskedStore(all, place, align, mask)
                                           : static_cast<llvm::Value*>(b_.CreateAlignedStore(all, place, align));
    keep_metadata(written, access.original);
    return {};
  }
  llvm::Value* wide = mask != nullptr ? b_.CreateMaskedLoad(type, place, align, mask)
                                      : static_cast<llvm::Value*>(b_.CreateAlignedLoad(type, place, align));
  keep_metadata(wide, access.original);
  Vectors result;
  for (unsigned i = 0; i < access.count(); ++i) result.push_back(support::every(b_, wide, access.count(), i));
  return result;
}

Vectors Writer::access_apart(const Access& access, const llvm::Value* pointer, llvm::Value* mask) {
  if (!native_apart(access)) {
    // Without a mask each lane's access is an instruction of its own; with one that would be as many branches.
    if (mask != nullptr) return access_in_turn(access, pointer);
    const Shape shape = divergence_.shape(pointer);
    if (shape.kind == Kind::kAffine) {
      llvm::Value* condition = holds(pointer);
      if (condition == nullptr) return access_with_step(access, pointer);
      // That an index wraps is rare, and the shorter code is enough for it.
      if (shape.step.by == nullptr && (lanes_ > kFewAccesses || access.count() > 1)) {
        const auto together = static_cast<std::int64_t>(access.count() * access.element);
        if (access.regular && shape.step.times == together) return access_in_turn(access, pointer);
        return either(
            condition, [&] { return access_with_step(access, pointer); },
            [&] { return access_in_turn(access, pointer); });
      }
    }
  }
  llvm::Value* places = vector(pointer);
  Vectors result;
  if (!native_apart(access) && access.regular && access.count() > 1 && !access.store) {
    llvm::SmallVector<llvm::Value*> all;
    for (unsigned lane = 0; lane < lanes_; ++lane) all.push_back(b_.CreateExtractElement(places, lane));
    return all_parts(access, all);
  }
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

// What each lane loads side by side is one access.
Vectors Writer::all_parts(const Access& access, llvm::ArrayRef<llvm::Value*> places) {
  llvm::Type* type = llvm::FixedVectorType::get(access.type(), access.count());
  Vectors owned;
  for (llvm::Value* place : places) {
    owned.push_back(b_.CreateAlignedLoad(type, place, llvm::commonAlignment(access.align, access.element)));
    keep_metadata(owned.back(), access.original);
  }
  llvm::Value* all = llvm::concatenateVectors(b_, owned);
  Vectors result;
  for (unsigned i = 0; i < access.count(); ++i) result.push_back(support::every(b_, all, access.count(), i));
  return result;
}

// One access after the other, to addresses that need no vector. What a lane accesses side by side is one access.
Vectors Writer::access_with_step(const Access& access, const llvm::Value* pointer) {
  llvm::SmallVector<llvm::Value*> places = {scalar(pointer)};
  llvm::Value* step = step_of(pointer, b_.getInt64Ty());
  while (places.size() < lanes_) places.push_back(b_.CreateGEP(b_.getInt8Ty(), places.back(), step));
  const bool wide = access.regular && access.count() > 1;
  if (wide && !access.store) return all_parts(access, places);
  llvm::Type* wide_type = wide ? llvm::FixedVectorType::get(access.type(), access.count()) : nullptr;
  Vectors result;
  if (!access.store) {
    for (const Leaf& leaf : access.leaves) result.push_back(llvm::PoisonValue::get(lanes_of(leaf.type)));
  }
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    llvm::Value* own = wide ? llvm::PoisonValue::get(wide_type) : nullptr;
    for (unsigned i = 0; i < access.count(); ++i) {
      const Leaf& leaf = access.leaves[i];
      llvm::Value* at =
          leaf.offset != 0 && !wide ? b_.CreateConstGEP1_64(b_.getInt8Ty(), places[lane], leaf.offset) : places[lane];
      if (!access.store) {
        llvm::Value* one = b_.CreateAlignedLoad(leaf.type, at, access.align_of(leaf));
        keep_metadata(one, access.original);
        result[i] = b_.CreateInsertElement(result[i], one, lane);
        continue;
      }
      llvm::Value* one = b_.CreateExtractElement(access.values[i], lane);
      if (wide) {
        own = b_.CreateInsertElement(own, one, i);
      } else {
        keep_metadata(b_.CreateAlignedStore(one, at, access.align_of(leaf)), access.original);
      }
    }
    if (!wide) continue;
    const llvm::Align align = llvm::commonAlignment(access.align, access.element);
    keep_metadata(b_.CreateAlignedStore(own, places[lane], align), access.original);
  }
  return result;
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

}  // namespace anymps::metal::lower::vectorize
