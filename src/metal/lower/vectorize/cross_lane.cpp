// What the lanes of a simdgroup do together, among those that take part. Sums are formed in the order of
// abi/cooperative_op.cpp, so that both engines have the same bits.
#include <llvm/IR/Module.h>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
bool Writer::write_cooperative_op(const llvm::CallInst& call) {
  llvm::StringRef name = call.getCalledFunction()->getName();
  name.consume_front("air.");
  name.consume_back(".narrow");
  if (name.starts_with("wg.barrier")) {
    if (!surroundings_.barrier) return false;
    surroundings_.barrier(b_);
    return true;
  }
  if (name.starts_with("simdgroup.barrier")) return true;
  if (name == kSurely) {
    if (llvm::Value* agreed = surely(call.getArgOperand(0), true)) {
      define(call, agreed);
      return true;
    }
    return write_vote("simd_all", call);
  }
  if (lanes_ != abi::kLanes) return false;
  auto [operation, type] = name.split('.');
  if (operation.consume_front("simdgroup_matrix_8x8_")) return write_matrix(operation, call);
  const bool quad = operation.starts_with("quad_");
  if (write_vote(operation, call)) return true;
  if (operation.contains("_shuffle") || operation.contains("_broadcast")) {
    const Vectors result = shuffled(operation, call);
    if (result.empty()) return false;
    if (divergence_.uniform(&call)) {
      if (result.size() != 1) return false;
      define(call, b_.CreateExtractElement(result[0], std::uint64_t{0}));
    } else {
      define(call, result);
    }
    return true;
  }
  const bool is_signed = type.starts_with("s.");
  operation.consume_front(quad ? "quad_" : "simd_");
  const unsigned width = quad ? 4 : abi::kLanes;
  const bool inclusive = operation.consume_front("prefix_inclusive_");
  const bool exclusive = !inclusive && operation.consume_front("prefix_exclusive_");
  Vectors result;
  for (llvm::Value* given : vectors(call.getArgOperand(0))) {
    llvm::Type* given_type = given->getType();
    // Halves are added as floats, and rounded at the end.
    llvm::Type* scalar_type = given_type->getScalarType();
    const bool narrow = scalar_type->isHalfTy() || scalar_type->isBFloatTy();
    llvm::Value* values = narrow ? b_.CreateFPExt(given, lanes_of(b_.getFloatTy())) : given;
    llvm::Constant* none = neutral(operation, is_signed, values->getType());
    if (none == nullptr) return false;
    if (mask_ != nullptr) values = b_.CreateSelect(mask_, values, none);
    values = inclusive || exclusive ? scan(operation, is_signed, values, width, exclusive)
                                    : fold(operation, is_signed, values, width);
    if (narrow) values = b_.CreateFPTrunc(values, given_type);
    result.push_back(values);
  }
  if (!divergence_.uniform(&call)) {
    define(call, result);
    return true;
  }
  llvm::Value* one = b_.CreateExtractElement(result[0], std::uint64_t{0});
  if (call.getType()->isVectorTy()) {
    one = llvm::PoisonValue::get(call.getType());
    for (unsigned i = 0; i < result.size(); ++i) {
      one = b_.CreateInsertElement(one, b_.CreateExtractElement(result[i], std::uint64_t{0}), i);
    }
  }
  define(call, one);
  return true;
}

llvm::Value* Writer::combined(llvm::StringRef operation, bool is_signed, llvm::Value* left, llvm::Value* right) {
  const bool real = left->getType()->isFPOrFPVectorTy();
  if (operation == "sum") return real ? b_.CreateFAdd(left, right) : b_.CreateAdd(left, right);
  if (operation == "product") return real ? b_.CreateFMul(left, right) : b_.CreateMul(left, right);
  // "right < left ? right : left", and so what happens to NaNs.
  if (operation == "min" || operation == "max") {
    llvm::Value* smaller = operation == "min" ? right : left;
    llvm::Value* larger = operation == "min" ? left : right;
    llvm::Value* less = real        ? b_.CreateFCmpOLT(smaller, larger)
                        : is_signed ? b_.CreateICmpSLT(smaller, larger)
                                    : b_.CreateICmpULT(smaller, larger);
    return b_.CreateSelect(less, right, left);
  }
  if (operation == "and") return b_.CreateAnd(left, right);
  if (operation == "or") return b_.CreateOr(left, right);
  return b_.CreateXor(left, right);
}

// What a lane gives that takes no part; null for an operation that is not known.
llvm::Constant* Writer::neutral(llvm::StringRef operation, bool is_signed, llvm::Type* type) {
  const unsigned width = type->getScalarSizeInBits();
  const bool real = type->isFPOrFPVectorTy();
  if (operation == "sum" || operation == "or" || operation == "xor") return llvm::Constant::getNullValue(type);
  if (operation == "product") return real ? llvm::ConstantFP::get(type, 1.0) : llvm::ConstantInt::get(type, 1);
  if (operation == "and") return llvm::Constant::getAllOnesValue(type);
  const bool max = operation == "max";
  if (!max && operation != "min") return nullptr;
  if (real) return llvm::ConstantFP::getInfinity(type, /*Negative=*/max);
  if (is_signed) {
    return llvm::ConstantInt::get(type,
                                  max ? llvm::APInt::getSignedMinValue(width) : llvm::APInt::getSignedMaxValue(width));
  }
  return llvm::ConstantInt::get(type, max ? llvm::APInt::getMinValue(width) : llvm::APInt::getMaxValue(width));
}

// Halves onto each other, until every lane has the result of its `width` lanes.
llvm::Value* Writer::fold(llvm::StringRef operation, bool is_signed, llvm::Value* vector, unsigned width) {
  if (width == lanes_) {
    for (unsigned half = width / 2; half != 0; half /= 2) {
      llvm::SmallVector<int> low;
      llvm::SmallVector<int> high;
      for (unsigned i = 0; i < half; ++i) {
        low.push_back(static_cast<int>(i));
        high.push_back(static_cast<int>(i + half));
      }
      vector =
          combined(operation, is_signed, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
    }
    return b_.CreateVectorSplat(lanes_, b_.CreateExtractElement(vector, std::uint64_t{0}));
  }
  for (unsigned half = width / 2; half != 0; half /= 2) {
    llvm::SmallVector<int> low;
    llvm::SmallVector<int> high;
    for (unsigned i = 0; i < lanes_; ++i) {
      const unsigned within = i % half;
      const unsigned base = i - i % width;
      low.push_back(static_cast<int>(base + within));
      high.push_back(static_cast<int>(base + within + half));
    }
    vector = combined(operation, is_signed, b_.CreateShuffleVector(vector, low), b_.CreateShuffleVector(vector, high));
  }
  return vector;
}

// One lane after the other, as the order of a sum is part of its result; whole numbers in steps of a tree.
llvm::Value* Writer::scan(llvm::StringRef operation, bool is_signed, llvm::Value* vector, unsigned width,
                          bool exclusive) {
  llvm::Constant* none = neutral(operation, is_signed, vector->getType());
  const bool real = vector->getType()->isFPOrFPVectorTy();
  const auto moved = [&](llvm::Value* values, unsigned by) {
    llvm::SmallVector<int> from;
    for (unsigned i = 0; i < lanes_; ++i) {
      from.push_back(static_cast<int>(i % width >= by ? i - by : lanes_));
    }
    return b_.CreateShuffleVector(values, none, from);
  };
  if (!real) {
    for (unsigned by = 1; by < width; by *= 2) vector = combined(operation, is_signed, moved(vector, by), vector);
    return exclusive ? moved(vector, 1) : vector;
  }
  llvm::Value* result = llvm::PoisonValue::get(vector->getType());
  llvm::Value* sum = nullptr;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if (lane % width == 0) sum = none->getAggregateElement(0U);
    if (exclusive) result = b_.CreateInsertElement(result, sum, lane);
    // A lane that takes no part leaves the sum alone, a sum of -0 too.
    llvm::Value* next = combined(operation, is_signed, sum, b_.CreateExtractElement(vector, lane));
    if (mask_ != nullptr) next = b_.CreateSelect(b_.CreateExtractElement(mask_, lane), next, sum);
    sum = next;
    if (!exclusive) result = b_.CreateInsertElement(result, sum, lane);
  }
  return result;
}

// To each lane the element of the lane that `from` names, of 32 bits.
llvm::Value* Writer::permuted(llvm::Value* vector, llvm::Value* from) {
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(from)) {
    llvm::SmallVector<int> places;
    for (unsigned i = 0; i < lanes_; ++i) {
      const auto* place = llvm::dyn_cast_or_null<llvm::ConstantInt>(constant->getAggregateElement(i));
      if (place == nullptr) break;
      places.push_back(static_cast<int>(place->getZExtValue() % lanes_));
    }
    if (places.size() == lanes_) return b_.CreateShuffleVector(vector, places);
  }
  llvm::Type* element = vector->getType()->getScalarType();
  if (element->isIntegerTy(1)) {
    llvm::Value* bytes = permuted(b_.CreateZExt(vector, lanes_of(b_.getInt8Ty())), from);
    return b_.CreateTrunc(bytes, mask_type());
  }
  llvm::AllocaInst* all = variable(vector->getType());
  b_.CreateStore(vector, all);
  llvm::Value* result = llvm::PoisonValue::get(vector->getType());
  for (unsigned i = 0; i < lanes_; ++i) {
    llvm::Value* lane = b_.CreateZExt(b_.CreateExtractElement(from, i), b_.getInt64Ty());
    result = b_.CreateInsertElement(result, b_.CreateLoad(element, b_.CreateGEP(element, all, lane)), i);
  }
  return result;
}

// Of a lane that takes no part, zero is read; beyond the simdgroup, a lane's own value.
Vectors Writer::shuffled(llvm::StringRef operation, const llvm::CallInst& call) {
  const bool quad = operation.consume_front("quad_");
  if (!quad) operation.consume_front("simd_");
  const unsigned width = quad ? 4 : abi::kLanes;
  llvm::Type* number = lanes_of(b_.getInt32Ty());
  llvm::Constant* lane = counted(b_.getInt32Ty());
  const auto constant = [&](std::uint64_t value) { return llvm::ConstantInt::get(number, value); };
  llvm::Value* base = b_.CreateAnd(lane, constant(~std::uint64_t{width - 1}));
  llvm::Value* within = b_.CreateAnd(lane, constant(width - 1));
  const auto operand = [&](unsigned i) {
    const llvm::Value* value = call.getArgOperand(i);
    if (divergence_.uniform(value)) {
      return b_.CreateVectorSplat(lanes_, b_.CreateZExtOrTrunc(scalar(value), b_.getInt32Ty()));
    }
    return b_.CreateZExtOrTrunc(vector(value), number);
  };
  const auto taken = [&](const llvm::Value* value, llvm::Value* from) {
    llvm::Value* place = b_.CreateAdd(base, b_.CreateAnd(from, constant(width - 1)));
    Vectors result;
    for (llvm::Value* part : vectors(value)) {
      if (mask_ != nullptr) part = b_.CreateSelect(mask_, part, llvm::Constant::getNullValue(part->getType()));
      result.push_back(permuted(part, place));
    }
    return result;
  };
  const llvm::Value* given = call.getArgOperand(0);
  if (operation.contains("and_fill")) {
    llvm::Value* distance = operand(2);
    llvm::Value* modulo = operand(3);
    llvm::Value* last = b_.CreateSub(modulo, constant(1));
    llvm::Value* offset = b_.CreateAnd(within, last);
    llvm::Value* moved = operation.contains("up") ? b_.CreateSub(offset, distance) : b_.CreateAdd(offset, distance);
    llvm::Value* from = b_.CreateAdd(b_.CreateSub(within, offset), b_.CreateAnd(moved, last));
    const Vectors values = taken(given, from);
    const llvm::Value* filling = call.getArgOperand(1);
    const Vectors fill = llvm::isa<llvm::Constant>(filling) ? vectors(filling) : taken(filling, from);
    llvm::Value* inside = b_.CreateICmpULT(moved, modulo);
    Vectors result;
    for (unsigned i = 0; i < values.size(); ++i) result.push_back(b_.CreateSelect(inside, values[i], fill[i]));
    return result;
  }
  if (operation == "broadcast_first") {
    llvm::Value* first = constant(0);
    if (mask_ != nullptr && !quad) {
      llvm::Value* lowest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits(mask_), b_.getFalse());
      first = b_.CreateVectorSplat(lanes_, b_.CreateAnd(lowest, lanes_ - 1));
    } else if (mask_ != nullptr) {
      return {};
    }
    return taken(given, first);
  }
  llvm::Value* by = operand(1);
  if (operation == "shuffle" || operation == "broadcast") return taken(given, by);
  if (operation == "shuffle_xor") return taken(given, b_.CreateXor(within, by));
  if (operation == "shuffle_rotate_down") return taken(given, b_.CreateAdd(within, by));
  if (operation == "shuffle_rotate_up") return taken(given, b_.CreateSub(within, by));
  if (operation == "shuffle_down") {
    llvm::Value* from = b_.CreateAdd(within, by);
    return taken(given, b_.CreateSelect(b_.CreateICmpULT(from, constant(width)), from, within));
  }
  if (operation == "shuffle_up") {
    return taken(given, b_.CreateSelect(b_.CreateICmpUGE(within, by), b_.CreateSub(within, by), within));
  }
  return {};
}

bool Writer::write_vote(llvm::StringRef operation, const llvm::CallInst& call) {
  const bool quad = operation.consume_front("quad_");
  if (!quad && !operation.consume_front("simd_")) return false;
  if (operation == "is_helper_thread") {
    define(call, Vectors{llvm::Constant::getNullValue(mask_type())});
    return true;
  }
  const bool first = operation == "is_first";
  if (operation != "any" && operation != "all" && operation != "ballot" && operation != "active_threads_mask" &&
      !first) {
    return false;
  }
  llvm::Value* truth = call.arg_empty() ? whole_mask() : vector(call.getArgOperand(0));
  if (!truth->getType()->getScalarType()->isIntegerTy(1)) truth = b_.CreateIsNotNull(truth);
  llvm::Value* active = mask_or_whole();
  llvm::Value* yes = b_.CreateLogicalAnd(active, truth);
  if (quad) {
    // Each lane sees the four of its quad.
    const auto folded = [&](llvm::Value* mask, llvm::StringRef how) {
      llvm::Value* bytes = b_.CreateZExt(mask, lanes_of(b_.getInt8Ty()));
      return b_.CreateTrunc(fold(how, false, bytes, 4), mask_type());
    };
    if (operation == "any") {
      define(call, Vectors{folded(yes, "or")});
      return true;
    }
    if (operation == "all") {
      llvm::Value* no = b_.CreateLogicalAnd(active, b_.CreateNot(truth));
      define(call, Vectors{b_.CreateNot(folded(no, "or"))});
      return true;
    }
    return false;
  }
  llvm::Value* set = bits(yes);
  if (operation == "any") {
    define(call, b_.CreateIsNotNull(set));
  } else if (operation == "all") {
    define(call, b_.CreateICmpEQ(set, bits(active)));
  } else if (first) {
    llvm::Value* lowest = b_.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits(active), b_.getFalse());
    define(call, Vectors{b_.CreateICmpEQ(counted(b_.getInt32Ty()), b_.CreateVectorSplat(lanes_, lowest))});
  } else {
    define(call, b_.CreateZExtOrTrunc(operation == "ballot" ? set : bits(active), call.getType()));
  }
  return true;
}

}  // namespace anymps::metal::lower::vectorize
