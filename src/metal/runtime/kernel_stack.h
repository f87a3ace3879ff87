// The stack that kernels run on: one for each thread of the CPU, between guard pages.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstddef>

namespace anymps::metal::runtime {

// More than 32 lanes with a thread's largest arrays take.
inline constexpr std::size_t kKernelStackBytes = std::size_t{64} << 20;

// Calls `work` on this thread's stack for kernels. Exceptions pass through.
void call_on_kernel_stack(llvm::function_ref<void()> work);

// For a thread that has left that stack by a jump: its pages go back to the system.
void forget_kernel_stack();

}  // namespace anymps::metal::runtime
