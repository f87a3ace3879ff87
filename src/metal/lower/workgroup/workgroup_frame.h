// What work_item_loop.h and coroutines.h share: the frame of "run", its loops over threads, and what a thread is given.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <array>
#include <span>

#include "metal/lower/support/kernel_parameter.h"

namespace anymps::metal::lower::workgroup {

using Three = std::array<llvm::Value*, 3>;

// Where a thread is.
struct Place {
  Three position{};                  // in the grid
  Three within{};                    // its threadgroup
  llvm::Value* index = nullptr;      // in its threadgroup
  llvm::Value* simdgroup = nullptr;  // its simdgroup's index in the threadgroup
  llvm::Value* lane = nullptr;       // in its simdgroup
};

class WorkgroupBuilder {
 public:
  // Makes "run" with the common parameters and `more` of them, and stands in its first block. `memory` is the index of
  // the parameter that is the threadgroup's memory.
  WorkgroupBuilder(llvm::Module& module, std::span<const support::Parameter> parameters,
                   llvm::ArrayRef<llvm::Type*> more, unsigned memory);

  // The same in a function that is there already and begins with the common parameters.
  WorkgroupBuilder(llvm::Function* function, std::span<const support::Parameter> parameters, unsigned memory);

  llvm::IRBuilder<>& b() { return b_; }
  llvm::Function* run() { return run_; }

  // Nested loops over the threads; `body` is called once, at the innermost level, with a thread's position in the grid.
  // `parallel`, if there, is put on the innermost loop. Ends "run".
  void loops(llvm::function_ref<void(const Three& position)> body, llvm::MDNode* parallel);

  // Loops over the rows of the threadgroup alone: `body` is called with the first thread's position in the grid and the
  // position behind the last. Ends "run".
  void rows(llvm::function_ref<void(const Three& first, llvm::Value* last)> body);

  // What the kernel is called with for the thread there: all parameters, the memory included.
  llvm::SmallVector<llvm::Value*> arguments(llvm::Function* kernel, const Three& position);
  llvm::SmallVector<llvm::Value*> arguments(llvm::Function* kernel, const Place& place);
  // Of this threadgroup: the position of its first thread, and its size.
  const Three& first() const { return first_; }
  const Three& size() const { return size_; }
  // The thread's index in its threadgroup, of 32 bits; after arguments().
  llvm::Value* index() { return index_; }

 private:
  llvm::Value* geometry_field(unsigned field, unsigned axis);
  llvm::Value* bound(unsigned binding);
  llvm::Value* shaped(llvm::Type* type, const Three& values);
  llvm::Value* parts(const Three& size, unsigned width);
  llvm::Value* value_of(const support::Parameter& parameter, llvm::Type* type, const Place& place);
  void begin(unsigned memory);

  llvm::Module& module_;
  std::span<const support::Parameter> parameters_;
  llvm::IRBuilder<> b_;
  llvm::Function* run_;
  llvm::Value* bindings_;
  llvm::Value* geometry_;
  llvm::Value* memory_;
  Three group_;  // of this threadgroup: its position, the first thread's position, its size
  Three first_;
  Three size_;
  Three grid_;
  Three full_;
  Three groups_;
  llvm::SmallVector<llvm::Value*> pointers_;  // of the buffers, by parameter; null for others
  llvm::Value* index_ = nullptr;
};

}  // namespace anymps::metal::lower::workgroup
