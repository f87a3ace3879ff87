#include "metal/runtime/kernel_guard.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string_view>

#include "metal/pipeline/kernel_error.h"
#include "metal/runtime/guarded_memory.h"
#include "metal/runtime/kernel_stack.h"
#include "metal/runtime/watched_run.h"

namespace anymps::metal::runtime {
namespace {

constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
constexpr std::size_t kSignalStackBytes = 64 << 10;

// What this thread runs, for signal handlers.
struct Running {
  const std::string* kernel = nullptr;
  CodeRange code;
  sigjmp_buf back{};
  Ending ending = Ending::kDone;
};
thread_local Running* running = nullptr;

std::array<struct sigaction, kFaults.size()> actions_before;
struct sigaction stop_before;

// A line that is put together without memory of the heap.
class FaultLine {
 public:
  void add(std::string_view text) {
    for (const char c : text) {
      if (size_ < bytes_.size()) bytes_[size_++] = c;
    }
  }
  void add_hex(std::uintptr_t number) {
    add("0x");
    bool begun = false;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const auto digit = static_cast<unsigned>(number >> shift) & 15U;
      begun = begun || digit != 0 || shift == 0;
      if (begun) add(std::string_view("0123456789abcdef").substr(digit, 1));
    }
  }
  void write() const { (void)!::write(STDERR_FILENO, bytes_.data(), size_); }

 private:
  std::array<char, 512> bytes_{};
  std::size_t size_ = 0;
};

std::uintptr_t program_counter(const void* context) {
#if defined(__aarch64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#endif
}

bool in_kernel_code(const void* context) {
  const std::uintptr_t at = program_counter(context);
  return at >= running->code.begin && at < running->code.end;
}

void tell_of_fault(int signal, std::uintptr_t address) {
  FaultLine line;
  line.add("anymps: error: kernel '");
  line.add(*running->kernel);
  line.add(signal == SIGSEGV || signal == SIGBUS ? "' reached memory that is not there, at " : "' failed at ");
  line.add_hex(address);
  line.add("; the process ends\n");
  line.write();
}

// What a fault is, if nothing but the kernel's own memory can have suffered.
std::optional<Ending> harmless(int signal, std::uintptr_t address, const void* context) {
  if (signal == SIGSEGV || signal == SIGBUS) {
    const auto guard = GuardedMemory::whose_guard(address);
    if (!guard) return std::nullopt;
    return *guard == Guarded::kThreadgroupMemory ? Ending::kThreadgroupMemory : Ending::kStack;
  }
  if (!in_kernel_code(context)) return std::nullopt;
  return signal == SIGFPE ? Ending::kDivision : Ending::kTrap;
}

[[noreturn]] void leave(Ending ending) {
  running->ending = ending;
  ::siglongjmp(running->back, 1);
}

extern "C" void on_fault(int signal, siginfo_t* information, void* context) {
  if (running != nullptr) {
    const auto address = reinterpret_cast<std::uintptr_t>(information->si_addr);
    if (const auto ending = harmless(signal, address, context)) leave(*ending);
    tell_of_fault(signal, address);
  }
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i] == signal) ::sigaction(signal, &actions_before[i], nullptr);
  }
  // The instruction is run again, and what was there before this handler has the signal.
}

Ending ending_of(Stop stop) { return stop == Stop::kInterrupted ? Ending::kInterrupted : Ending::kTimeLimit; }

// A function that the kernel called is not left half-way: the signal comes again.
extern "C" void on_stop(int signal, siginfo_t* information, void* context) {
  if (running != nullptr && in_kernel_code(context)) {
    const Stop stop = WatchedRun::stop();
    if (stop != Stop::kNone) leave(ending_of(stop));
  }
  if ((stop_before.sa_flags & SA_SIGINFO) != 0) {
    stop_before.sa_sigaction(signal, information, context);
  } else if (stop_before.sa_handler != SIG_DFL && stop_before.sa_handler != SIG_IGN) {
    stop_before.sa_handler(signal);
  }
}

// Not deferred while a handler runs, because it may be left by a jump.
void listen_to(int signal, void (*handler)(int, siginfo_t*, void*), struct sigaction& before) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  ::sigaction(signal, &action, &before);
}

void listen_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < kFaults.size(); ++i) listen_to(kFaults[i], on_fault, actions_before[i]);
    listen_to(kStopSignal, on_stop, stop_before);
  });
}

// Where the stack is used up, a handler needs another one. A thread that has one keeps it.
class SignalStack {
 public:
  SignalStack() {
    stack_t there{};
    if (::sigaltstack(nullptr, &there) != 0 || (there.ss_flags & SS_DISABLE) == 0) return;
    void* memory =
        ::mmap(nullptr, kSignalStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    const stack_t own{.ss_sp = memory, .ss_flags = 0, .ss_size = kSignalStackBytes};
    if (::sigaltstack(&own, nullptr) == 0) memory_ = memory;
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t there{};
    if (::sigaltstack(nullptr, &there) == 0 && there.ss_sp == memory_) {
      const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
      ::sigaltstack(&none, nullptr);
    }
    ::munmap(memory_, kSignalStackBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = nullptr;
};

// For the time of a run, also where an exception ends it.
class InThisThread {
 public:
  explicit InThisThread(Running& own) { running = &own; }
  ~InThisThread() { running = nullptr; }
  InThisThread(const InThisThread&) = delete;
  InThisThread& operator=(const InThisThread&) = delete;

 private:
  const WatchedRun watched_;
};

// In a function of its own, so that no variable of the caller lives across the jump.
__attribute__((noinline)) void run_until_left(Running& own, llvm::function_ref<void()> work) {
  // Without the mask of signals, which costs a call of the system: the handlers change none.
  if (sigsetjmp(own.back, 0) == 0) call_on_kernel_stack(work);
}

}  // namespace

Ending run_guarded(const std::string& kernel, CodeRange code, llvm::function_ref<void()> work) {
  listen_once();
  thread_local const SignalStack stack;
  Running own{.kernel = &kernel, .code = code};
  {
    const InThisThread now(own);
    run_until_left(own, work);
  }
  if (own.ending == Ending::kStack) forget_kernel_stack();
  return own.ending;
}

void throw_unless_done(const std::string& kernel, Ending ending) {
  switch (ending) {
    case Ending::kDone:
      return;
    case Ending::kTrap:
      throw pipeline::KernelError(kernel + ": it came to a trap, or to code that must not be reached");
    case Ending::kDivision:
      throw pipeline::KernelError(kernel + ": it divided by zero");
    case Ending::kStack:
      throw pipeline::KernelError(kernel + ": it used up its stack of " + std::to_string(kKernelStackBytes >> 20) +
                                  " MiB, by recursion or by large arrays");
    case Ending::kThreadgroupMemory:
      throw pipeline::KernelError(kernel + ": it reached beyond its threadgroup memory");
    case Ending::kInterrupted:
      throw pipeline::KernelError(kernel + ": it was interrupted");
    case Ending::kTimeLimit: {
      std::array<char, 32> seconds{};
      std::snprintf(seconds.data(), seconds.size(), "%g", kernel_seconds());
      throw pipeline::KernelError(kernel + ": it ran for more than " + seconds.data() +
                                  " s, which ANYMPS_KERNEL_SECONDS allows; a Mac says: Caused GPU Timeout Error "
                                  "(00000002:kIOGPUCommandBufferCallbackErrorTimeout)");
    }
  }
}

void throw_if_stopped(const std::string& kernel) {
  if (const Stop stop = WatchedRun::stop(); stop != Stop::kNone) throw_unless_done(kernel, ending_of(stop));
}

}  // namespace anymps::metal::runtime
