// 8x8 matrices, of which each lane of a simdgroup owns two elements.
#include "metal/lower/workgroup/cooperative_ops.h"

namespace anymps::metal::lower::workgroup {
namespace {

using abi::CooperativeOp;

class MatrixWriter {
 public:
  explicit MatrixWriter(CooperativeOpWriter& ops) : m_(ops) {}

  bool write(llvm::StringRef operation, llvm::CallInst& call, llvm::Value*& result) {
    if (operation.starts_with("init")) {
      llvm::Value* value = call.getArgOperand(0);
      result = m_.b.CreateVectorSplat(2, value);
      if (!operation.contains("diag")) return true;
      for (unsigned i = 0; i < 2; ++i) {
        llvm::Value* on = m_.b.CreateICmpEQ(row(), m_.b.CreateAdd(column(), m_.b.getInt64(i)));
        result = m_.b.CreateInsertElement(
            result, m_.b.CreateSelect(on, value, llvm::Constant::getNullValue(value->getType())), i);
      }
      return true;
    }
    if (operation == "load" || operation == "store") {
      result = transfer(operation == "store", call);
      if (operation == "store") m_.meet({.op = CooperativeOp::kSimdgroupBarrier});
      return true;
    }
    if (operation != "multiply_accumulate") return false;
    llvm::Type* pair = llvm::FixedVectorType::get(m_.b.getFloatTy(), 2);
    auto as_float = [&](llvm::Value* value) {
      return value->getType() == pair ? value : m_.b.CreateFPExt(value, pair);
    };
    llvm::Value* factors =
        m_.b.CreateShuffleVector(as_float(call.getArgOperand(0)), as_float(call.getArgOperand(1)), {0, 1, 2, 3});
    llvm::Value* added = m_.b.CreateShuffleVector(as_float(call.getArgOperand(2)), {0, 1, -1, -1});
    m_.give(m_.b.CreateShuffleVector(factors, added, {0, 1, 2, 3, 4, 5, -1, -1}));
    m_.meet({.op = CooperativeOp::kMatrixProduct, .bytes = 32});
    llvm::Value* sum = m_.take(pair, 8, m_.lane);
    result = sum->getType() == call.getType() ? sum : m_.b.CreateFPTrunc(sum, call.getType());
    return true;
  }

 private:
  // Of the two elements that this lane owns.
  llvm::Value* row() {
    return m_.b.CreateOr(m_.b.CreateAnd(m_.b.CreateLShr(m_.lane, 2), 4),
                         m_.b.CreateAnd(m_.b.CreateLShr(m_.lane, 1), 3));
  }
  llvm::Value* column() {
    return m_.b.CreateOr(m_.b.CreateShl(m_.b.CreateAnd(m_.b.CreateLShr(m_.lane, 2), 2), 1),
                         m_.b.CreateShl(m_.b.CreateAnd(m_.lane, 1), 1));
  }

  llvm::Value* transfer(bool store, llvm::CallInst& call) {
    const unsigned pointer = store ? 1 : 0;
    llvm::Value* step_x = nullptr;
    llvm::Value* step_y = nullptr;
    llvm::Value* origin = nullptr;
    if (call.getArgOperand(pointer + 1)->getType()->isVectorTy()) {
      llvm::Value* strides = call.getArgOperand(pointer + 2);
      step_x = m_.b.CreateExtractElement(strides, std::uint64_t{0});
      step_y = m_.b.CreateExtractElement(strides, std::uint64_t{1});
      origin = call.getArgOperand(pointer + 3);
    } else {
      // The older form: elements per row, origin, whether to transpose. PyTorch's kernels are there in both forms, and
      // where this one says no, the newer has strides of one along a row.
      llvm::Value* transpose = call.getArgOperand(pointer + 3);
      step_x = m_.b.CreateSelect(transpose, call.getArgOperand(pointer + 1), m_.b.getInt64(1));
      step_y = m_.b.CreateSelect(transpose, m_.b.getInt64(1), call.getArgOperand(pointer + 1));
      origin = call.getArgOperand(pointer + 2);
    }
    llvm::Value* x = m_.b.CreateAdd(column(), m_.b.CreateExtractElement(origin, std::uint64_t{0}));
    llvm::Value* y = m_.b.CreateAdd(row(), m_.b.CreateExtractElement(origin, std::uint64_t{1}));
    llvm::Value* place = m_.b.CreateAdd(m_.b.CreateMul(x, step_x), m_.b.CreateMul(y, step_y));
    llvm::Type* type = store ? call.getArgOperand(0)->getType() : call.getType();
    llvm::Value* result = store ? nullptr : llvm::PoisonValue::get(type);
    for (unsigned i = 0; i < 2; ++i) {
      llvm::Value* element = m_.b.CreateGEP(type->getScalarType(), call.getArgOperand(pointer),
                                            m_.b.CreateAdd(place, m_.b.CreateMul(step_x, m_.b.getInt64(i))));
      if (store) {
        m_.b.CreateStore(m_.b.CreateExtractElement(call.getArgOperand(0), i), element);
      } else {
        result = m_.b.CreateInsertElement(result, m_.b.CreateLoad(type->getScalarType(), element), i);
      }
    }
    return result;
  }

  CooperativeOpWriter& m_;
};

}  // namespace

bool write_cooperative_matrix_op(CooperativeOpWriter& ops, llvm::StringRef operation, llvm::CallInst& call,
                                 llvm::Value*& result) {
  return MatrixWriter(ops).write(operation, call, result);
}

}  // namespace anymps::metal::lower::workgroup
