// Runs of kernels that take long: what Ctrl-C and a time limit do to them.
#pragma once

#include <csignal>
#include <cstdint>

namespace anymps::metal::runtime {

// Why a run is to end before its end.
enum class Stop : std::uint8_t { kNone, kInterrupted, kTimeLimit };

// Sent to a thread whose run is to end, again and again until it has. Ignored where nobody listens.
inline constexpr int kStopSignal = SIGURG;

// One run of a kernel on this thread, while it lives. Ctrl-C ends it where the process has a handler for that, as
// Python has, which is called too; without a handler it ends the process, as ever. So does a limit, if
// ANYMPS_KERNEL_SECONDS sets one. A run is noticed within half a second.
class WatchedRun {
 public:
  // Throws KernelError where ANYMPS_KERNEL_SECONDS is no number above 0.
  WatchedRun();
  ~WatchedRun();
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;

  // Why this thread's run is to end. Safe in a signal handler.
  static Stop stop();
};

// The limit in seconds; 0 for none. Throws as WatchedRun() does.
double kernel_seconds();

}  // namespace anymps::metal::runtime
