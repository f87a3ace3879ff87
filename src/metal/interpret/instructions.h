// Instructions of LLVM that a lane does by itself.
#pragma once

#include <span>

#include "metal/interpret/memory.h"

namespace llvm {
class AllocaInst;
class Instruction;
}  // namespace llvm

namespace anymps::metal::interpret {

// `own` grows by what a variable takes of a lane's own memory, whose size, once known, `own_bytes` points to.
struct OwnMemory {
  std::size_t used = 0;
  const std::size_t* own_bytes = nullptr;
};

// `from` has the instruction's operands. Null for what is not known.
Step instruction_step(const llvm::Instruction& instruction, const Operand& to, std::span<const Operand> from,
                      ModuleMemory& memory);

// A variable, or so many of them side by side.
Step variable_step(const llvm::AllocaInst& instruction, std::size_t count, const Operand& to,
                   const ModuleMemory& memory, OwnMemory& own);

}  // namespace anymps::metal::interpret
