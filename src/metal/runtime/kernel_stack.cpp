#include "metal/runtime/kernel_stack.h"

#include "metal/runtime/guarded_memory.h"

// Sanitizers keep books on the stack that a thread was given, and are not told of another.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ANYMPS_KEEPS_STACK 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ANYMPS_KEEPS_STACK 1
#endif
#endif

// void anymps_call_on_stack(void (*function)(void*), void* argument, std::byte* top): the caller's stack pointer is
// kept in the frame pointer, which `function` preserves; the unwinder is told the same.
#ifndef ANYMPS_KEEPS_STACK
#if defined(__aarch64__)
asm(R"(
    .text
    .p2align 4
    .local anymps_call_on_stack
    .type anymps_call_on_stack, %function
anymps_call_on_stack:
    .cfi_startproc
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset 29, -16
    .cfi_offset 30, -8
    mov x29, sp
    .cfi_def_cfa_register 29
    mov sp, x2
    mov x9, x0
    mov x0, x1
    blr x9
    mov sp, x29
    .cfi_def_cfa_register 31
    ldp x29, x30, [sp], #16
    .cfi_restore 30
    .cfi_restore 29
    .cfi_def_cfa_offset 0
    ret
    .cfi_endproc
    .size anymps_call_on_stack, .-anymps_call_on_stack
)");
#elif defined(__x86_64__)
asm(R"(
    .text
    .p2align 4
    .local anymps_call_on_stack
    .type anymps_call_on_stack, @function
anymps_call_on_stack:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register 6
    mov %rdx, %rsp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %rbp, %rsp
    pop %rbp
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .size anymps_call_on_stack, .-anymps_call_on_stack
)");
#else
#error "kernels run on x86-64 and aarch64"
#endif
#endif

namespace anymps::metal::runtime {

#ifdef ANYMPS_KEEPS_STACK

void call_on_kernel_stack(llvm::function_ref<void()> work) { work(); }
void forget_kernel_stack() {}

#else

namespace {

extern "C" void anymps_call_on_stack(void (*function)(void*), void* argument, std::byte* top);

GuardedMemory& stack_of_this_thread() {
  static thread_local GuardedMemory stack(Guarded::kStack, kKernelStackBytes);
  return stack;
}

void call_work(void* work) { (*static_cast<llvm::function_ref<void()>*>(work))(); }

}  // namespace

void call_on_kernel_stack(llvm::function_ref<void()> work) {
  anymps_call_on_stack(call_work, &work, stack_of_this_thread().end());
}

void forget_kernel_stack() { stack_of_this_thread().give_back(); }

#endif

}  // namespace anymps::metal::runtime
