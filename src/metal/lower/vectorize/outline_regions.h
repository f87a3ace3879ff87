// Stretches of a thread's code without cooperative operations, to be run by fewer lanes at a time than a simdgroup has:
// what they compute then fits the registers.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "metal/lower/vectorize/divergence_analysis.h"

namespace anymps::metal::lower::vectorize {

struct OutlinedRegion {
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
using OutlinedRegions = std::vector<std::unique_ptr<OutlinedRegion>>;

// Has what lanes do together in blocks of its own, which outline_regions() expects.
void separate_cooperative_calls(llvm::Function& function);

// Takes parts for `lanes` lanes out of a thread's code where that needs more registers than there are. `some`: lanes
// may be missing. Afterwards simplify_form() and new Divergence are due, if there are any.
OutlinedRegions outline_regions(const Thread& thread, const Divergence& divergence, unsigned lanes,
                                unsigned most_leaves, bool some);

}  // namespace anymps::metal::lower::vectorize
