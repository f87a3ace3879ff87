// Event: a mark in the device's queue that the host can ask about, wait for, and time.
//
// It is recorded by the host, and reached when the device has done the work before it: at once where work runs when it
// is encoded. Events are kept in a pool by number, as torch.mps.Event wants them; a released number may be used again.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace anymps::gpu {

using EventId = std::uint32_t;

struct Event {
  bool timed = false;
  bool reached = false;
  std::uint64_t completed_at = 0;  // nanoseconds on the monotonic clock; 0: not timed or not reached
  std::uint64_t recording = 0;     // which of all recordings was its last; 0: none
};

class EventPool {
 public:
  static EventPool& instance();

  EventId acquire(bool timed);
  // The functions below return false when `id` is not in use.
  bool release(EventId id);
  bool lookup(EventId id, Event& event) const;

  // What reach() is called with later; 0 when `id` is not in use.
  std::uint64_t record(EventId id);
  // Does nothing when the event was released or recorded again since.
  void reach(EventId id, std::uint64_t recording);

 private:
  mutable std::mutex mutex_;
  std::unordered_map<EventId, Event> in_use_;
  std::vector<EventId> released_;
  EventId last_ = 0;
  std::uint64_t last_recording_ = 0;
};

}  // namespace anymps::gpu
