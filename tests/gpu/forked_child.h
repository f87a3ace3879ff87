// A forked child for the length of a call.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anymps::gpu {

// GCC 12's AddressSanitizer does not take its own locks over a fork: a child forked while another thread starts or
// allocates may wait for one of them for ever. Tests that fork in the middle of other threads' work ask this first.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kForksAmongBusyThreads = false;
#else
constexpr bool kForksAmongBusyThreads = true;
#endif

// The child calls `body` and ends with success where it returns true. An alarm ends one that hangs.
template <typename Body>
pid_t start_child(const Body& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(120);
  bool good = false;
  try {
    good = body();
  } catch (...) {
  }
  ::_exit(good ? 0 : 1);
}

inline bool ended_well(pid_t child) {
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

template <typename Body>
bool holds_in_child(const Body& body) {
  return ended_well(start_child(body));
}

}  // namespace anymps::gpu
