#include "lab/resident_set.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "gpu/whole_number.h"

namespace anymps::lab {
namespace fs = std::filesystem;
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

// The fourth field of stat; the second is a name in parentheses, which may contain anything.
std::optional<pid_t> parent_of(const std::string& folder) {
  std::ifstream file(folder + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t at = line.rfind(") ");
  if (at == std::string::npos || at + 4 >= line.size()) return std::nullopt;
  pid_t parent = 0;
  std::from_chars(line.data() + at + 4, line.data() + line.size(), parent);
  return parent;
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

std::uint64_t resident_bytes(const std::string& folder) {
  std::ifstream file(folder + "/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const auto id = gpu::whole_number<pid_t>(entry->path().filename().string());
    if (!id) continue;
    if (const auto parent = parent_of(entry->path().string())) children.emplace(*parent, *id);
  }
  std::vector<pid_t> found = {ancestor};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

}  // namespace

ResidentSet resident_set_below(pid_t ancestor) {
  ResidentSet sum;
  for (const pid_t process : descendants_of(ancestor)) {
    const std::string folder = "/proc/" + std::to_string(process);
    if (const auto bytes = proportional_bytes(folder)) {
      sum.bytes += *bytes;
    } else if (const std::uint64_t resident = resident_bytes(folder); resident > 0) {
      sum.bytes += resident;
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

}  // namespace anymps::lab
