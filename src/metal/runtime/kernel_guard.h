// Runs the code of a kernel so that what goes wrong in it is told: as an exception where it can be, else in words
// before the process ends.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <string>

namespace anymps::metal::runtime {

// Where the machine code of a kernel lies.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

// How a run came to its end.
enum class Ending : std::uint8_t { kDone, kTrap, kDivision, kStack, kThreadgroupMemory, kInterrupted, kTimeLimit };

// Runs `work`, which calls code in `code`, on this thread's stack for kernels. From that code it may be left by a jump:
// what `work` holds then must need no destructor. A fault that leaves the process as it was is an Ending: a trap, the
// edge of the stack or of threadgroup memory; so is what ends a WatchedRun. Any other is told of on standard error,
// with the kernel's name and the address, and the signal then takes its course, through handlers that were there
// before.
Ending run_guarded(const std::string& kernel, CodeRange code, llvm::function_ref<void()> work);

// Throws KernelError for each Ending but kDone.
void throw_unless_done(const std::string& kernel, Ending ending);

// For code that is not generated: throws KernelError where this thread's WatchedRun is to end.
void throw_if_stopped(const std::string& kernel);

}  // namespace anymps::metal::runtime
