// Takes rights away from this process, for good: what runs in it afterwards computes, and does nothing else.
//
// It keeps its memory, its threads and the descriptors that are open. It opens no file, makes no socket, starts no
// program, signals nobody but itself and asks nothing of another process: such a call fails with EPERM. There are two
// locks on these doors where the kernel has both: a seccomp filter, which names the calls that are allowed, and
// Landlock, which allows no place of the file system, no TCP port and, from ABI 6 on, no signal to the outside.
#pragma once

#include <string>

namespace anymps::gpu::support {

// Why confine() cannot work on this machine; empty where it can.
std::string why_not_confined();

// To be called while the process has but one thread: those that it starts later inherit everything. Memory and time are
// for the caller to bound (setrlimit) before. Throws std::runtime_error where the kernel has no seccomp filters; an
// older kernel without Landlock has the one lock.
void confine();

}  // namespace anymps::gpu::support
