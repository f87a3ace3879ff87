#include "lab/host/resident_set.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>

#include "lab/host/platform.h"

namespace anymps::lab::host {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kShortestPause = std::chrono::milliseconds(20);
constexpr nanoseconds kLongestPause = std::chrono::milliseconds(200);
// Reading the maps of a large process takes a while and holds its memory lock: at most a tenth of the time.
constexpr int kPausePerCost = 9;

// Of this thread: on a busy machine the time on the wall would make the samples rare just when they are needed.
nanoseconds processor_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

std::optional<std::uint64_t> proportional_bytes(const std::string& folder) {
  std::ifstream file(folder + "/smaps_rollup");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Pss:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    if (digits == std::string::npos) return std::nullopt;
    return std::stoull(line.substr(digits)) * 1024;
  }
  return std::nullopt;
}

}  // namespace

ResidentSet resident_set_below(pid_t ancestor) {
  ResidentSet sum;
  for (const ProcessUse& process : Platform::here().descendants(ancestor)) {
    if (const auto bytes = proportional_bytes("/proc/" + std::to_string(process.pid))) {
      sum.bytes += *bytes;
    } else if (process.resident_bytes > 0 && ::kill(process.pid, 0) == 0) {
      sum.bytes += process.resident_bytes;
      sum.shared_once = false;
    } else {
      continue;  // it has ended meanwhile
    }
    ++sum.processes;
  }
  return sum;
}

ResidentSetWatch::ResidentSetWatch() {
  // Signals are the child driver's business, which waits for them on the thread that called it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { watch(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ResidentSetWatch::~ResidentSetWatch() { peak(); }

ResidentSet ResidentSetWatch::peak() {
  stop_.store(true);
  if (thread_.joinable()) thread_.join();
  return peak_;
}

void ResidentSetWatch::watch() {
  const pid_t self = ::getpid();
  while (!stop_.load()) {
    const nanoseconds begin = processor_time();
    const ResidentSet now = resident_set_below(self);
    if (now.bytes > peak_.bytes) peak_ = now;
    std::this_thread::sleep_for(std::clamp((processor_time() - begin) * kPausePerCost, kShortestPause, kLongestPause));
  }
}

}  // namespace anymps::lab::host
