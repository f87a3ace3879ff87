// How much memory a run's processes take together: loader workers are resident sets, too, and a Mac's one memory holds
// them all.
//
// Sampled by a thread of its own, so a peak shorter than the interval can be missed. Pages that processes share are
// counted once where the system tells (PSS, on Linux), else once for each of them (RSS).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace anymps::lab::host {

struct ResidentSet {
  std::uint64_t bytes = 0;
  std::size_t processes = 0;
  bool shared_once = true;  // false where some process could be read as RSS only
};

// Of all processes that descend from `ancestor`, itself left out, now.
ResidentSet resident_set_below(pid_t ancestor);

// Watches what descends from this process, from its construction until peak() is asked.
class ResidentSetWatch {
 public:
  ResidentSetWatch();
  ~ResidentSetWatch();
  ResidentSetWatch(const ResidentSetWatch&) = delete;
  ResidentSetWatch& operator=(const ResidentSetWatch&) = delete;

  // Ends the watch; the largest sample.
  ResidentSet peak();

 private:
  void watch();

  std::atomic<bool> stop_{false};
  ResidentSet peak_;
  std::thread thread_;
};

}  // namespace anymps::lab::host
