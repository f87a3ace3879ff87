// 8x8 matrices. A lane owns two neighbours of a row; here all eight rows are at hand at once, each a vector.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <string>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/support/interleaving.h"
#include "metal/lower/vectorize/vector_writer.h"

namespace anymps::metal::lower::vectorize {
namespace {

constexpr unsigned kSize = 8;

using Rows = std::array<llvm::Value*, kSize>;

// Where an element lies when the two of each lane follow each other.
int element_of(unsigned row, unsigned column) {
  const unsigned lane = ((row & 4) << 2) | ((column & 4) << 1) | ((row & 3) << 1) | ((column & 2) >> 1);
  return static_cast<int>(lane * 2 + (column & 1));
}

Rows rows_of(llvm::IRBuilder<>& b, llvm::Value* pairs) {
  Rows rows;
  for (unsigned r = 0; r < kSize; ++r) {
    llvm::SmallVector<int> from;
    for (unsigned c = 0; c < kSize; ++c) from.push_back(element_of(r, c));
    rows[r] = b.CreateShuffleVector(pairs, from);
  }
  return rows;
}

// The first and the second element of every lane.
Vectors owned(llvm::IRBuilder<>& b, const Rows& rows) {
  llvm::Value* all = llvm::concatenateVectors(b, rows);
  llvm::SmallVector<int> from[2];
  for (auto& places : from) places.resize(kSize * kSize / 2);
  for (unsigned r = 0; r < kSize; ++r) {
    for (unsigned c = 0; c < kSize; ++c) {
      const int place = element_of(r, c);
      from[place % 2][static_cast<std::size_t>(place / 2)] = static_cast<int>(r * kSize + c);
    }
  }
  return {b.CreateShuffleVector(all, from[0]), b.CreateShuffleVector(all, from[1])};
}

// void(left, right, sum): adds a product to the third, all in memory. A function of its own, because kernels have
// dozens of products, and each is hundreds of instructions.
llvm::Function* product_of(llvm::Module& module, llvm::ArrayRef<llvm::Type*> types) {
  std::string name = "product";
  llvm::raw_string_ostream text(name);
  for (const llvm::Type* type : types) text << "." << *type->getScalarType();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::IRBuilder<> b(module.getContext());
  llvm::Type* pointer = b.getPtrTy();
  auto* product = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, pointer}, false),
                                         llvm::Function::InternalLinkage, name, module);
  product->setDoesNotThrow();
  product->addFnAttr(llvm::Attribute::NoInline);
  for (unsigned i = 0; i < 3; ++i) product->addParamAttr(i, llvm::Attribute::NoAlias);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", product));
  llvm::Type* wide = llvm::FixedVectorType::get(b.getFloatTy(), kSize * kSize);
  const auto rows = [&](unsigned i) {
    llvm::Value* pairs = b.CreateLoad(types[i], product->getArg(i));
    return rows_of(b, types[i] == wide ? pairs : b.CreateFPExt(pairs, wide));
  };
  const Rows left = rows(0);
  const Rows right = rows(1);
  Rows sum = rows(2);
  llvm::Type* row = llvm::FixedVectorType::get(b.getFloatTy(), kSize);
  for (unsigned r = 0; r < kSize; ++r) {
    for (unsigned k = 0; k < kSize; ++k) {
      llvm::Value* factor = b.CreateVectorSplat(kSize, b.CreateExtractElement(left[r], k));
      sum[r] = b.CreateIntrinsic(llvm::Intrinsic::fma, {row}, {factor, right[k], sum[r]});
    }
  }
  llvm::SmallVector<int> from(kSize * kSize);
  for (unsigned r = 0; r < kSize; ++r) {
    for (unsigned c = 0; c < kSize; ++c) {
      from[static_cast<std::size_t>(element_of(r, c))] = static_cast<int>(r * kSize + c);
    }
  }
  llvm::Value* pairs = b.CreateShuffleVector(llvm::concatenateVectors(b, sum), from);
  b.CreateStore(types[2] == wide ? pairs : b.CreateFPTrunc(pairs, types[2]), product->getArg(2));
  b.CreateRetVoid();
  return product;
}

}  // namespace

bool Writer::write_matrix(llvm::StringRef operation, const llvm::CallInst& call) {
  // What a matrix is of which lanes are missing, nobody says.
  if (mask_ != nullptr) return false;
  if (operation.starts_with("init")) {
    const llvm::Value* value = call.getArgOperand(0);
    if (!operation.contains("diag")) {
      const Vectors parts = vectors(value);
      define(call, Vectors{parts[0], parts[0]});
      return true;
    }
    if (!divergence_.uniform(value)) return false;
    llvm::Value* one = scalar(value);
    Rows rows;
    for (unsigned r = 0; r < kSize; ++r) {
      llvm::Value* zeros = llvm::Constant::getNullValue(llvm::FixedVectorType::get(one->getType(), kSize));
      rows[r] = b_.CreateInsertElement(zeros, one, r);
    }
    define(call, owned(b_, rows));
    return true;
  }
  if (operation == "load" || operation == "store") {
    const Vectors result = matrix_transfer(call, operation == "store");
    if (operation == "load") define(call, result);
    return true;
  }
  if (operation != "multiply_accumulate") return false;
  // By way of memory, where a function finds them.
  llvm::SmallVector<llvm::Value*> places;
  llvm::SmallVector<llvm::Type*> types;
  for (unsigned i = 0; i < 3; ++i) {
    llvm::Value* pairs = support::interleave(b_, vectors(call.getArgOperand(i)));
    types.push_back(pairs->getType());
    places.push_back(variable(pairs->getType()));
    b_.CreateStore(pairs, places.back());
  }
  b_.CreateCall(product_of(*into_.getParent(), types), places);
  llvm::Value* result = b_.CreateLoad(types[2], places[2]);
  Vectors parts = {support::every(b_, result, 2, 0), support::every(b_, result, 2, 1)};
  define(call, parts);
  return true;
}

Vectors Writer::matrix_transfer(const llvm::CallInst& call, bool store) {
  const unsigned pointer = store ? 1 : 0;
  for (unsigned i = pointer; i < call.arg_size(); ++i) {
    if (!divergence_.uniform(call.getArgOperand(i)))
      throw CannotVectorize{"a matrix that lanes find in different places"};
  }
  llvm::Value* one = b_.getInt64(1);
  llvm::Value* step_x = nullptr;
  llvm::Value* step_y = nullptr;
  llvm::Value* origin = nullptr;
  if (call.getArgOperand(pointer + 1)->getType()->isVectorTy()) {
    llvm::Value* strides = scalar(call.getArgOperand(pointer + 2));
    step_x = b_.CreateExtractElement(strides, std::uint64_t{0});
    step_y = b_.CreateExtractElement(strides, std::uint64_t{1});
    origin = scalar(call.getArgOperand(pointer + 3));
  } else {
    llvm::Value* transpose = scalar(call.getArgOperand(pointer + 3));
    llvm::Value* stride = scalar(call.getArgOperand(pointer + 1));
    step_x = b_.CreateSelect(transpose, stride, one);
    step_y = b_.CreateSelect(transpose, one, stride);
    origin = scalar(call.getArgOperand(pointer + 2));
  }
  llvm::Type* type = (store ? call.getArgOperand(0)->getType() : call.getType())->getScalarType();
  llvm::Type* row_type = llvm::FixedVectorType::get(type, kSize);
  llvm::Value* offset = b_.CreateAdd(b_.CreateMul(b_.CreateExtractElement(origin, std::uint64_t{0}), step_x),
                                     b_.CreateMul(b_.CreateExtractElement(origin, std::uint64_t{1}), step_y));
  llvm::Value* start = b_.CreateGEP(type, scalar(call.getArgOperand(pointer)), offset);
  const llvm::Align align = layout_.getABITypeAlign(type);
  const auto* along = llvm::dyn_cast<llvm::ConstantInt>(step_x);
  const bool neighbours = along != nullptr && along->isOne();
  Rows rows;
  if (store) rows = rows_of(b_, support::interleave(b_, vectors(call.getArgOperand(0))));
  for (unsigned r = 0; r < kSize; ++r) {
    llvm::Value* place = b_.CreateGEP(type, start, b_.CreateMul(step_y, b_.getInt64(r)));
    if (neighbours) {
      if (store) {
        b_.CreateAlignedStore(rows[r], place, align);
      } else {
        rows[r] = b_.CreateAlignedLoad(row_type, place, align);
      }
      continue;
    }
    if (!store) rows[r] = llvm::PoisonValue::get(row_type);
    for (unsigned c = 0; c < kSize; ++c) {
      llvm::Value* element = b_.CreateGEP(type, place, b_.CreateMul(step_x, b_.getInt64(c)));
      if (store) {
        b_.CreateAlignedStore(b_.CreateExtractElement(rows[r], c), element, align);
      } else {
        rows[r] = b_.CreateInsertElement(rows[r], b_.CreateAlignedLoad(type, element, align), c);
      }
    }
  }
  return store ? Vectors() : owned(b_, rows);
}

}  // namespace anymps::metal::lower::vectorize
