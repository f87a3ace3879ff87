// Cooperative operations as code around a place where a thread waits for others. How it waits is not known here.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include "metal/abi/cooperative_op.h"

namespace anymps::metal::lower::workgroup {

// Which cooperative operations a module's functions call.
struct CooperativeOps {
  bool barriers = false;   // of their threadgroup
  bool exchanges = false;  // with their simdgroup
  bool tensors = false;    // exchanges that are tensor operations
  bool any() const { return barriers || exchanges; }
};
CooperativeOps cooperative_ops_of(const llvm::Module& module);

// A thread's side of a cooperative operation: it gives its operand, waits, and takes the result.
class CooperativeOpWriter {
 public:
  using Meet = llvm::function_ref<void(const abi::CooperativeCall& point)>;

  // `meet` makes the thread wait where the builder stands, and leaves the builder where it goes on. `given` and
  // `result` are those fields of abi::Simdgroup, `lane` is the thread's, of 64 bits.
  CooperativeOpWriter(llvm::IRBuilder<>& builder, llvm::Value* given, llvm::Value* result, llvm::Value* lane, Meet meet)
      : b(builder), lane(lane), meet(meet), given_(given), result_(result) {}

  void give(llvm::Value* value);
  llvm::Value* take(llvm::Type* type, std::uint64_t stride, llvm::Value* from);
  llvm::Value* taken_bytes(llvm::Type* type, std::uint64_t offset);

  llvm::IRBuilder<>& b;
  llvm::Value* const lane;
  const Meet meet;

 private:
  llvm::Value* given_;
  llvm::Value* result_;
};

// Writes what stands for a call of a cooperative function (builtins/builtin_lowering.h), in front of it. False for one
// that is not known; `result` stays null for a function without one.
bool write_cooperative_op(CooperativeOpWriter& ops, llvm::CallInst& call, llvm::Value*& result);
// "simdgroup_matrix_8x8_<operation>".
bool write_cooperative_matrix_op(CooperativeOpWriter& ops, llvm::StringRef operation, llvm::CallInst& call,
                                 llvm::Value*& result);

}  // namespace anymps::metal::lower::workgroup
