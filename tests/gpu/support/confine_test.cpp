// What a confined process can no longer do, and what it still can. Each in a child of its own.
#include "gpu/support/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"

namespace anymps::gpu::support {
namespace {

// Whether the call fails with EPERM in a confined child, and only there.
bool is_forbidden(const std::function<long()>& call) {
  return holds_in_child([&] {
    confine();
    errno = 0;
    const long result = call();
    if (result == -1 && errno == EPERM) return true;
    std::fprintf(stderr, "%ld, %s\n", result, std::strerror(errno));
    return false;
  });
}

class Confined : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!why_not_confined().empty()) GTEST_SKIP() << why_not_confined();
  }
};

TEST_F(Confined, OpensNoFile) {
  EXPECT_TRUE(is_forbidden([] { return ::open("/etc/passwd", O_RDONLY); }));
  EXPECT_TRUE(is_forbidden([] { return ::open("/tmp/anymps-confined", O_WRONLY | O_CREAT, 0600); }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY); }));
  EXPECT_TRUE(is_forbidden([] { return ::unlink("/tmp/anymps-confined"); }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_memfd_create, "m", 0); }));
  EXPECT_TRUE(is_forbidden([] { return ::access("/etc/passwd", R_OK); }));
}

TEST_F(Confined, HasNoSocket) {
  EXPECT_TRUE(is_forbidden([] { return ::socket(AF_INET, SOCK_STREAM, 0); }));
  EXPECT_TRUE(is_forbidden([] { return ::socket(AF_UNIX, SOCK_STREAM, 0); }));
}

TEST_F(Confined, StartsNoProcess) {
  EXPECT_TRUE(is_forbidden([] {
    char name[] = "/bin/true";
    char* const words[] = {name, nullptr};
    char* const none[] = {nullptr};
    return ::execve(name, words, none);
  }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr); }));
}

TEST_F(Confined, LeavesOtherProcessesAlone) {
  EXPECT_TRUE(is_forbidden([] { return ::kill(::getppid(), 0); }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_ptrace, PTRACE_TRACEME, 0, nullptr, nullptr); }));
  EXPECT_TRUE(is_forbidden([] {
    char byte = 0;
    const iovec own{.iov_base = &byte, .iov_len = 1};
    return ::process_vm_readv(::getppid(), &own, 1, &own, 1, 0);
  }));
  EXPECT_TRUE(is_forbidden([] { return ::syscall(SYS_prlimit64, ::getppid(), RLIMIT_CORE, nullptr, nullptr); }));
}

// The second lock, for a filter with a hole in it.
TEST_F(Confined, HasNoDescriptorToSpare) {
  EXPECT_TRUE(holds_in_child([] {
    confine();
    rlimit files{};
    return ::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max == 0;
  }));
}

TEST_F(Confined, ComputesOnThreadsInMemoryThatItMakes) {
  EXPECT_TRUE(holds_in_child([] {
    confine();
    int sum = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&sum, i] { __atomic_add_fetch(&sum, i, __ATOMIC_RELAXED); });
    for (std::thread& thread : threads) thread.join();
    void* code = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const std::vector<char> heap(std::size_t{8} << 20);
    return sum == 6 && code != MAP_FAILED && ::mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0;
  }));
}

TEST_F(Confined, UsesTheDescriptorsThatAreOpen) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_TRUE(holds_in_child([&] {
    confine();
    char byte = 0;
    return ::write(ends[1], "x", 1) == 1 && ::read(ends[0], &byte, 1) == 1 && byte == 'x';
  }));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Confined, MayEndItself) {
  const pid_t child = start_child([] {
    confine();
    std::raise(SIGTERM);
    return true;
  });
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

// A regular file behind standard error may become a little longer, and no more.
TEST_F(Confined, FillsNoDisk) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(holds_in_child([&] {
    ::dup2(::fileno(file), STDERR_FILENO);
    confine();
    const std::vector<char> much(std::size_t{1} << 20, 'x');
    const bool some = ::write(STDERR_FILENO, much.data(), 100) == 100;
    (void)!::write(STDERR_FILENO, much.data(), much.size());  // as much as fits
    return some && ::write(STDERR_FILENO, much.data(), much.size()) == -1 && errno == EFBIG;
  }));
  std::fclose(file);
}

}  // namespace
}  // namespace anymps::gpu::support
