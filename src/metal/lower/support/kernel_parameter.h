// Turns a kernel, which says what one thread does, into a function "run" that does a whole threadgroup.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "metal/engine/meeting.h"

namespace llvm {
class BasicBlock;
class Function;
class Instruction;
class Module;
class Value;
}  // namespace llvm

namespace anymps::metal::lower {

// What a parameter of a kernel is given.
enum class Role {
  kBuffer,             // a pointer from the bindings
  kThreadgroupBuffer,  // memory of the threadgroup: the binding holds its offset
  kPositionInGrid,
  kPositionInThreadgroup,
  kThreadgroupPosition,
  kThreadgroupsPerGrid,
  kThreadsPerGrid,
  kThreadsPerThreadgroup,      // of this threadgroup: the last ones may be smaller
  kFullThreadsPerThreadgroup,  // as dispatched
  kIndexInThreadgroup,
  kIndexInSimdgroup,
  kSimdgroupIndex,
  kIndexInQuadgroup,
  kQuadgroupIndex,
  kThreadsPerSimdgroup,
  kSimdgroupsPerThreadgroup,
  kQuadgroupsPerThreadgroup,
  kFullSimdgroupsPerThreadgroup,  // as dispatched
  kFullQuadgroupsPerThreadgroup,
};

struct Parameter {
  Role role = Role::kBuffer;
  unsigned binding = 0;
  bool unchanging = false;  // read only, and small: a scalar passed by reference
};

// The last parameter of `kernel` is the threadgroup's memory; `parameters` describes the others. The kernel is used up.
// run(bindings, geometry, x, y, z, memory): for kernels whose threads never meet.
void make_thread_loop(llvm::Module& module, llvm::Function* kernel, std::span<const Parameter> parameters);

// Loads of scalars passed by reference, which do not change while a kernel runs, are marked as such.
void mark_unchanging(llvm::Function& kernel, std::span<const Parameter> parameters);

// Orders the blocks such that lanes that diverged meet again as early as they can, and no lane begins a loop's next
// round while others wait in this one.
void order_meetings(llvm::Function& kernel);

// A thread as a coroutine that has not been split yet. Its first parameters are the kernel's.
struct ThreadCode {
  llvm::Function* function = nullptr;
  llvm::Value* index = nullptr;          // of the thread in its threadgroup, of 32 bits
  llvm::BasicBlock* finished = nullptr;  // where it ends
  std::vector<std::string> places;       // place_of() each meeting point
};

// run(bindings, geometry, x, y, z, threads, simdgroups, frames, memory), which is engine::Spawn: each thread is a
// coroutine that suspends where it meets others. Returns what is wrong, or an empty string.
std::string make_coroutines(llvm::Module& module, llvm::Function* kernel, std::span<const Parameter> parameters,
                            std::vector<engine::MeetingPoint>& points, ThreadCode& thread);

// "file:line" of an instruction in the kernel's source; empty where the module has no debug information.
std::string place_of(const llvm::Instruction& instruction);

// Where threads of the module's functions meet others.
struct MeetingKinds {
  bool barriers = false;   // of their threadgroup
  bool exchanges = false;  // with their simdgroup
  bool any() const { return barriers || exchanges; }
};
MeetingKinds meetings_of(const llvm::Module& module);

}  // namespace anymps::metal::lower
