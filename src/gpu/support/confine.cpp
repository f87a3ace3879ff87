#include "gpu/support/confine.h"

#include <stdexcept>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace anymps::gpu::support {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

// What a compiler, its threads and the code that it makes ask of the kernel, whatever the arguments are. Those that
// take a descriptor reach what is open already.
constexpr auto kAllowed = std::to_array<long>({
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_lseek,
    SYS_close,
    SYS_ppoll,
    // Memory.
    SYS_mmap,
    SYS_mprotect,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    // Threads.
    SYS_futex,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_exit,
    SYS_exit_group,
    SYS_gettid,
    SYS_getpid,
    SYS_getppid,
#ifdef SYS_rseq
    SYS_rseq,
#endif
    // Its own signals.
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_restart_syscall,
    // Clocks and numbers.
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrusage,
    SYS_getrandom,
#if defined(__x86_64__)
    SYS_poll,
    SYS_time,
    SYS_arch_prctl,
#endif
});

// Namespaces of its own are none of a thread's business.
constexpr std::uint32_t kNewNamespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// A seccomp filter: classic BPF, in which every way ends in a verdict.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    end_unless(kArchitecture, SECCOMP_RET_KILL_PROCESS);
    load_number();
#if defined(__x86_64__)
    // The same calls by other numbers (x32), which this filter would not know.
    constexpr std::uint32_t kX32 = 0x40000000;
    add(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1);
    end(SECCOMP_RET_KILL_PROCESS);
#endif
  }

  void allow(long call) { end_if(call, SECCOMP_RET_ALLOW); }
  void fail(long call, int error) { end_if(call, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }

  // Where the first argument is that number.
  void allow_with(long call, std::uint32_t argument) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
    load(offsetof(seccomp_data, args));
    end_if(argument, SECCOMP_RET_ALLOW);
    load_number();
  }

  // Where the first argument has this bit, and none of those.
  void allow_with_bits(long call, std::uint32_t wanted, std::uint32_t unwanted) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 5);
    load(offsetof(seccomp_data, args));
    add(BPF_JMP | BPF_JSET | BPF_K, unwanted, 2, 0);
    add(BPF_JMP | BPF_JSET | BPF_K, wanted, 0, 1);
    end(SECCOMP_RET_ALLOW);
    load_number();
  }

  // For good, and in all threads. Everything else fails.
  bool install() {
    end(SECCOMP_RET_ERRNO | EPERM);
    const sock_fprog program{.len = static_cast<unsigned short>(code_.size()), .filter = code_.data()};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
  }

 private:
  void add(unsigned code, std::uint32_t value, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
    code_.push_back({static_cast<std::uint16_t>(code), if_true, if_false, value});
  }
  // The lower half of a number: this filter is for little-endian machines.
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  void end(std::uint32_t verdict) { add(BPF_RET | BPF_K, verdict); }
  void end_if(long value, std::uint32_t verdict) {
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(value), 0, 1);
    end(verdict);
  }
  void end_unless(std::uint32_t value, std::uint32_t verdict) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
    end(verdict);
  }

  std::vector<sock_filter> code_;
};

[[noreturn]] void give_up(const char* what) {
  throw std::runtime_error(std::string("the process cannot be confined: ") + what + ": " + std::strerror(errno));
}

void allow_calls() {
  Filter filter;
  for (const long call : kAllowed) filter.allow(call);
  filter.allow_with_bits(SYS_clone, CLONE_THREAD, kNewNamespaces);
  // Its flags are in memory, which a filter cannot read; the C library then takes the one above.
  filter.fail(SYS_clone3, ENOSYS);
  filter.allow_with(SYS_tgkill, static_cast<std::uint32_t>(::getpid()));
  filter.allow_with(SYS_prlimit64, 0);
  if (!filter.install()) give_up("seccomp");
}

// Landlock's words, which the C library's headers may be too old for.
constexpr long kCreateRuleset = 444;
constexpr long kRestrictSelf = 446;
constexpr std::uint32_t kAskVersion = 1;
struct Ruleset {
  std::uint64_t files = 0;
  std::uint64_t net = 0;
  std::uint64_t scoped = 0;
};

// What is handled, and allowed by no rule, is forbidden.
void forbid_places() {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 1) return;  // ENOSYS, or EOPNOTSUPP where it is there and switched off
  Ruleset ruleset;
  const unsigned rights = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  ruleset.files = (std::uint64_t{1} << rights) - 1;
  if (version >= 4) ruleset.net = 3;     // bind, connect
  if (version >= 6) ruleset.scoped = 3;  // abstract sockets, signals
  const std::size_t size = version >= 6   ? sizeof ruleset
                           : version >= 4 ? 2 * sizeof ruleset.files
                                          : sizeof ruleset.files;
  const auto descriptor = static_cast<int>(::syscall(kCreateRuleset, &ruleset, size, 0));
  if (descriptor < 0) give_up("landlock");
  const bool done = ::syscall(kRestrictSelf, descriptor, 0) == 0;
  ::close(descriptor);
  if (!done) give_up("landlock");
}

// How long a file may become that messages go to; nobody has another one open for writing.
rlim_t longest_file() {
  constexpr off_t kForMessages = 64 << 10;
  off_t longest = 0;
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat facts{};
    if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) {
      longest = std::max(longest, facts.st_size + kForMessages);
    }
  }
  return static_cast<rlim_t>(longest);
}

void bound_resource(__rlimit_resource resource, rlim_t most) {
  rlimit limit{};
  ::getrlimit(resource, &limit);
  limit.rlim_max = std::min(limit.rlim_max, most);
  limit.rlim_cur = std::min(limit.rlim_cur, limit.rlim_max);
  if (::setrlimit(resource, &limit) != 0) give_up("setrlimit");
}

}  // namespace

std::string why_not_confined() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0) return "";
  return std::string("this kernel has no seccomp filters: ") + std::strerror(errno);
}

void confine() {
  if (const std::string why = why_not_confined(); !why.empty()) throw std::runtime_error(why);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up("no_new_privs");
  // Nobody looks into it, or finds its memory on the disk.
  bound_resource(RLIMIT_CORE, 0);
  bound_resource(RLIMIT_FSIZE, longest_file());
  // A message that does not fit is an error of write(), not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  forbid_places();
  bound_resource(RLIMIT_NOFILE, 0);  // of new descriptors
  allow_calls();
}

}  // namespace anymps::gpu::support

#else

namespace anymps::gpu::support {

std::string why_not_confined() { return "only Linux on x86-64 and aarch64 has what a sandbox is made of here"; }
void confine() { throw std::runtime_error(why_not_confined()); }

}  // namespace anymps::gpu::support

#endif
