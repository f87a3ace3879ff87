// What threads do when they meet, as code around a place where a thread waits. How it waits is not known here.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/IR/IRBuilder.h>

#include "metal/engine/meeting.h"

namespace anymps::metal::lower {

// A thread's side of a meeting: it gives, meets, and takes.
class Meetings {
 public:
  using Meet = llvm::function_ref<void(const engine::MeetingPoint& point)>;

  // `meet` makes the thread wait where the builder stands, and leaves the builder where it goes on. `given` and
  // `result` are those fields of engine::Simdgroup, `lane` is the thread's, of 64 bits.
  Meetings(llvm::IRBuilder<>& builder, llvm::Value* given, llvm::Value* result, llvm::Value* lane, Meet meet)
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

// Writes what stands for a call of a cooperative function (bodies.h), in front of it. False for one that is not known;
// `result` stays null for a function without one.
bool write_meeting(Meetings& meetings, llvm::CallInst& call, llvm::Value*& result);
// "simdgroup_matrix_8x8_<operation>".
bool write_matrix_meeting(Meetings& meetings, llvm::StringRef operation, llvm::CallInst& call, llvm::Value*& result);

}  // namespace anymps::metal::lower
