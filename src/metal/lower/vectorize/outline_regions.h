// Stretches of a thread's code that meet nobody, to be run by fewer lanes at a time than a simdgroup has: what they
// compute then fits the registers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "metal/lower/simd_facts.h"

namespace anymps::metal::lower::simd {

struct Part {
  static constexpr llvm::Align kAlignment = llvm::Align::Constant<64>();  // of each row

  // A step is a number of the value's type, or bytes for a pointer.
  static llvm::Type* step_type(llvm::Type* type) {
    return type->isPointerTy() ? llvm::Type::getInt64Ty(type->getContext()) : type;
  }
  // So many steps from the first.
  static llvm::Value* at(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* step, llvm::Value* count) {
    llvm::Value* offset = b.CreateMul(b.CreateZExtOrTrunc(count, step->getType()), step);
    return first->getType()->isPointerTy() ? b.CreatePtrAdd(first, offset) : b.CreateAdd(first, offset);
  }

  // What lies in memory, an element for each lane of the simdgroup: what lanes differ in.
  struct Row {
    llvm::Type* type;  // truths are bytes
    std::uint64_t offset;
  };
  // How an input is given: the same value for all lanes, the first lane's and the step between lanes, or rows.
  using Inputs = std::vector<Shape::Kind>;

  llvm::Function* call = nullptr;  // stands for the part in the thread: inputs, and a structure of what it leaves
  Inputs inputs;                   // of the call
  Thread thread;                   // its code: what is given by value, memory, the first lane, the lane
  std::vector<Row> rows;           // of the inputs, of who takes part, of the results
  std::uint64_t bytes = 0;         // of all rows
  bool masked = false;             // perhaps not every lane takes part
  // The code for many lanes, without the last argument; set before the thread is written.
  llvm::Function* lanes = nullptr;
};
using Parts = std::vector<std::unique_ptr<Part>>;

// Has what lanes do together in blocks of its own, which take_parts() expects.
void set_meetings_apart(llvm::Function& function);

// Takes parts for `lanes` lanes out of a thread's code where that needs more registers than there are. `some`: lanes
// may be missing. Afterwards put_in_form() and new Facts are due, if there are any.
Parts take_parts(const Thread& thread, const Facts& facts, unsigned lanes, unsigned most_leaves, bool some);

}  // namespace anymps::metal::lower::simd
