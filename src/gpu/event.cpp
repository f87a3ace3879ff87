#include "gpu/event.h"

#include <chrono>

namespace anymps::gpu {

EventPool& EventPool::instance() {
  // Never destroyed: Python may release events while static objects are being torn down.
  static EventPool* const pool = new EventPool;
  return *pool;
}

EventId EventPool::acquire(bool timed) {
  std::lock_guard lock(mutex_);
  EventId id = 0;
  if (released_.empty()) {
    id = ++last_;
  } else {
    id = released_.back();
    released_.pop_back();
  }
  in_use_[id] = Event{.timed = timed};
  return id;
}

bool EventPool::release(EventId id) {
  std::lock_guard lock(mutex_);
  if (in_use_.erase(id) == 0) return false;
  released_.push_back(id);
  return true;
}

std::uint64_t EventPool::record(EventId id) {
  std::lock_guard lock(mutex_);
  const auto found = in_use_.find(id);
  if (found == in_use_.end()) return 0;
  found->second = Event{.timed = found->second.timed, .recording = ++last_recording_};
  return last_recording_;
}

void EventPool::reach(EventId id, std::uint64_t recording) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::lock_guard lock(mutex_);
  const auto found = in_use_.find(id);
  if (found == in_use_.end() || found->second.recording != recording) return;
  found->second.reached = true;
  if (found->second.timed) {
    found->second.completed_at =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  }
}

bool EventPool::lookup(EventId id, Event& event) const {
  std::lock_guard lock(mutex_);
  const auto found = in_use_.find(id);
  if (found == in_use_.end()) return false;
  event = found->second;
  return true;
}

}  // namespace anymps::gpu
