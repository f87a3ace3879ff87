// A kernel whose threads wait for one another, with a coroutine for each thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metal/abi/cooperative_op.h"
#include "metal/lower/support/kernel_parameter.h"

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
class Module;
class Value;
}  // namespace llvm

namespace anymps::metal::lower::workgroup {

// A thread as a coroutine that has not been split yet. Its first parameters are the kernel's.
struct ThreadCoroutine {
  llvm::Function* function = nullptr;
  llvm::Value* index = nullptr;          // of the thread in its threadgroup, of 32 bits
  llvm::BasicBlock* finished = nullptr;  // where it ends
  std::vector<std::string> places;       // place_of() each cooperative call
};

// run(bindings, geometry, x, y, z, threads, simdgroups, frames, memory), which is runtime::Spawn: each thread is a
// coroutine that suspends where it waits for others. Its blocks are in the order of order_for_reconvergence(). Returns
// what is wrong, or an empty string.
std::string make_coroutines(llvm::Module& module, llvm::Function* kernel,
                            std::span<const support::Parameter> parameters, std::vector<abi::CooperativeCall>& points,
                            ThreadCoroutine& thread);

// "file:line" of an instruction in the kernel's source; empty where the module has no debug information.
std::string place_of(const llvm::Instruction& instruction);

}  // namespace anymps::metal::lower::workgroup
