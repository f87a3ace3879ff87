// Event: a mark in the device's queue that the host can ask about, wait for, and time.
//
// Work runs when it is encoded, so a recorded event has been reached. Events are kept in a pool by number, as
// torch.mps.Event wants them; a released number may be used again.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace anymps::gpu {

using EventId = std::uint32_t;

struct Event {
  bool timed = false;
  bool recorded = false;
  std::uint64_t completed_at = 0;  // nanoseconds on the monotonic clock; 0: not timed or not recorded
};

class EventPool {
 public:
  static EventPool& instance();

  EventId acquire(bool timed);
  // The functions below return false when `id` is not in use.
  bool release(EventId id);
  bool record(EventId id);
  bool lookup(EventId id, Event& event) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<EventId, Event> in_use_;
  std::vector<EventId> released_;
  EventId last_ = 0;
};

}  // namespace anymps::gpu
