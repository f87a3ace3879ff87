// Barriers, votes, shuffles and arithmetic over a simdgroup or a quad.
#include "metal/lower/workgroup/cooperative_ops.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <cstddef>
#include <string>

#include "metal/lower/builtins/builtin_lowering.h"

namespace anymps::metal::lower::workgroup {
namespace {

using abi::CooperativeCall;
using abi::CooperativeOp;

class CooperativeCallLowering {
 public:
  explicit CooperativeCallLowering(CooperativeOpWriter& ops) : m_(ops) {}

  bool write(llvm::CallInst& call, llvm::Value*& result) {
    if (call.getCalledFunction()->getName() == builtins::kTensorOperation) {
      m_.give(call.getArgOperand(0));
      m_.meet({.op = CooperativeOp::kTensorOperation, .bytes = sizeof(void*)});
      return true;
    }
    llvm::StringRef name = call.getCalledFunction()->getName().drop_front(4);
    name.consume_back(".narrow");
    const auto [operation, type] = name.split('.');
    if (name.starts_with("wg.barrier")) {
      auto* memory = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(0));
      m_.meet({.op = CooperativeOp::kThreadgroupBarrier,
               .memory = memory == nullptr ? abi::kAllMemory : static_cast<std::uint8_t>(memory->getZExtValue())});
      return true;
    }
    if (name.starts_with("simdgroup.barrier")) {
      m_.meet({.op = CooperativeOp::kSimdgroupBarrier});
      return true;
    }
    if (operation.starts_with("simdgroup_matrix_8x8_")) {
      return write_cooperative_matrix_op(m_, operation.drop_front(sizeof("simdgroup_matrix_8x8_") - 1), call, result);
    }
    if (llvm::Value* truth = vote(operation, call)) {
      result = truth;
      return true;
    }
    if (operation.contains("_shuffle") || operation.contains("_broadcast")) {
      result = shuffle(operation, call);
      return result != nullptr;
    }
    // "u.v4i32" is four times "u.i32".
    std::string scalar = type.str();
    if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(call.getType())) {
      const std::string lanes = "v" + std::to_string(vector->getNumElements());
      if (const auto at = scalar.find(lanes); at != std::string::npos) scalar.erase(at, lanes.size());
    }
    const auto point = abi::arithmetic_op({operation.data(), operation.size()}, scalar);
    if (!point) return false;
    result = arithmetic(*point, call);
    return true;
  }

 private:
  // Every lane gives `value`; m_.take() then finds any lane's.
  std::uint64_t exchange(llvm::Value* value) {
    const std::uint64_t bytes =
        llvm::PowerOf2Ceil(m_.b.GetInsertBlock()->getModule()->getDataLayout().getTypeStoreSize(value->getType()));
    m_.give(value);
    m_.meet({.op = CooperativeOp::kExchange, .bytes = static_cast<std::uint8_t>(bytes)});
    return bytes;
  }

  llvm::Value* arithmetic(const CooperativeCall& point, llvm::CallInst& call) {
    const auto combined = [&](llvm::Value* operand) {
      m_.give(operand);
      m_.meet(point);
      return m_.take(operand->getType(), point.bytes, m_.lane);
    };
    llvm::Value* operand = call.getArgOperand(0);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operand->getType());
    if (vector == nullptr) return combined(operand);
    llvm::Value* result = llvm::PoisonValue::get(operand->getType());
    for (unsigned i = 0; i < vector->getNumElements(); ++i) {
      result = m_.b.CreateInsertElement(result, combined(m_.b.CreateExtractElement(operand, i)), i);
    }
    return result;
  }

  // What the lanes of this simdgroup, or of this quad, say. Both masks begin with the lowest lane.
  struct Poll {
    llvm::Value* yes;
    llvm::Value* active;
  };
  Poll poll(llvm::Value* truth, bool quad) {
    m_.give(m_.b.CreateZExt(truth, m_.b.getInt32Ty()));
    m_.meet({.op = CooperativeOp::kVote, .bytes = 4});
    const auto lanes = [&](std::size_t offset) -> llvm::Value* {
      llvm::Value* mask = m_.taken_bytes(m_.b.getInt64Ty(), offset);
      return quad ? m_.b.CreateAnd(m_.b.CreateLShr(mask, m_.b.CreateAnd(m_.lane, m_.b.getInt64(~3ULL))), 15) : mask;
    };
    return {lanes(offsetof(abi::Votes, yes)), lanes(offsetof(abi::Votes, active))};
  }

  llvm::Value* first_of(llvm::Value* active) {
    return m_.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, m_.b.getTrue());
  }

  // any, all, ballot and what is known of the active lanes; nothing for other operations.
  llvm::Value* vote(llvm::StringRef operation, llvm::CallInst& call) {
    const bool quad = operation.consume_front("quad_");
    if (!quad && !operation.consume_front("simd_")) return nullptr;
    llvm::Value* truth = call.arg_empty() ? m_.b.getTrue() : call.getArgOperand(0);
    if (operation == "is_helper_thread") return m_.b.getFalse();  // only fragment shaders have them
    if (operation == "any") return m_.b.CreateIsNotNull(poll(truth, quad).yes);
    if (operation == "all") {
      const Poll votes = poll(truth, quad);
      return m_.b.CreateICmpEQ(votes.yes, votes.active);
    }
    if (operation == "ballot") return m_.b.CreateZExtOrTrunc(poll(truth, quad).yes, call.getType());
    if (operation == "active_threads_mask") return m_.b.CreateZExtOrTrunc(poll(truth, quad).active, call.getType());
    if (operation == "is_first") {
      llvm::Value* first = first_of(poll(truth, quad).active);
      return m_.b.CreateICmpEQ(first, quad ? m_.b.CreateAnd(m_.lane, 3) : m_.lane);
    }
    return nullptr;
  }

  // The lane whose value this one gets. Out of the simdgroup, a lane keeps its own.
  llvm::Value* shuffle(llvm::StringRef operation, llvm::CallInst& call) {
    const bool quad = operation.consume_front("quad_");
    if (!quad) operation.consume_front("simd_");
    const std::uint64_t width = quad ? 4 : abi::kLanes;
    llvm::Value* first = operation == "broadcast_first" ? first_of(poll(m_.b.getTrue(), quad).active) : nullptr;
    const std::uint64_t bytes = exchange(call.getArgOperand(0));
    llvm::Value* base = m_.b.CreateAnd(m_.lane, m_.b.getInt64(~(width - 1)));
    llvm::Value* within = m_.b.CreateAnd(m_.lane, m_.b.getInt64(width - 1));
    auto wide = [&](unsigned i) { return m_.b.CreateZExtOrTrunc(call.getArgOperand(i), m_.b.getInt64Ty()); };
    auto taken = [&](llvm::Value* lane) {
      return m_.take(call.getType(), bytes, m_.b.CreateAdd(base, m_.b.CreateAnd(lane, m_.b.getInt64(width - 1))));
    };
    if (operation.contains("and_fill")) {
      // Operands: value, filling value, distance, modulo. What moves in is the filling value of the other end.
      llvm::Value* distance = wide(2);
      llvm::Value* modulo = wide(3);
      llvm::Value* last = m_.b.CreateSub(modulo, m_.b.getInt64(1));
      llvm::Value* offset = m_.b.CreateAnd(within, last);
      const bool up = operation.contains("up");
      llvm::Value* moved = up ? m_.b.CreateSub(offset, distance) : m_.b.CreateAdd(offset, distance);
      llvm::Value* lane = m_.b.CreateAdd(m_.b.CreateSub(within, offset), m_.b.CreateAnd(moved, last));
      llvm::Value* value = taken(lane);
      llvm::Value* filling = call.getArgOperand(1);
      if (!llvm::isa<llvm::Constant>(filling)) {
        exchange(filling);
        filling = taken(lane);
      }
      return m_.b.CreateSelect(m_.b.CreateICmpULT(moved, modulo), value, filling);
    }
    if (first != nullptr) return taken(first);
    llvm::Value* operand = wide(1);
    if (operation == "shuffle" || operation == "broadcast") return taken(operand);
    if (operation == "shuffle_xor") return taken(m_.b.CreateXor(within, operand));
    if (operation == "shuffle_rotate_down") return taken(m_.b.CreateAdd(within, operand));
    if (operation == "shuffle_rotate_up") return taken(m_.b.CreateSub(within, operand));
    if (operation == "shuffle_down") {
      llvm::Value* lane = m_.b.CreateAdd(within, operand);
      return taken(m_.b.CreateSelect(m_.b.CreateICmpULT(lane, m_.b.getInt64(width)), lane, within));
    }
    if (operation == "shuffle_up") {
      return taken(m_.b.CreateSelect(m_.b.CreateICmpUGE(within, operand), m_.b.CreateSub(within, operand), within));
    }
    return nullptr;
  }

  CooperativeOpWriter& m_;
};

}  // namespace

CooperativeOps cooperative_ops_of(const llvm::Module& module) {
  CooperativeOps ops;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.use_empty() || !builtins::is_cooperative(function.getName())) continue;
    (builtins::is_threadgroup_barrier(function.getName()) ? ops.barriers : ops.exchanges) = true;
    if (function.getName() == builtins::kTensorOperation) ops.tensors = true;
  }
  return ops;
}

void CooperativeOpWriter::give(llvm::Value* value) {
  llvm::Value* offset = b.CreateMul(lane, b.getInt64(abi::kMostGiven));
  b.CreateStore(value, b.CreateInBoundsGEP(b.getInt8Ty(), given_, offset));
}

llvm::Value* CooperativeOpWriter::take(llvm::Type* type, std::uint64_t stride, llvm::Value* from) {
  return b.CreateLoad(type, b.CreateInBoundsGEP(b.getInt8Ty(), result_, b.CreateMul(from, b.getInt64(stride))));
}

llvm::Value* CooperativeOpWriter::taken_bytes(llvm::Type* type, std::uint64_t offset) {
  return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), result_, offset));
}

bool write_cooperative_op(CooperativeOpWriter& ops, llvm::CallInst& call, llvm::Value*& result) {
  return CooperativeCallLowering(ops).write(call, result);
}

}  // namespace anymps::metal::lower::workgroup
