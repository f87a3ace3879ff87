#include "gpu/queue/shared_event.h"

#include <algorithm>
#include <iterator>

namespace anymps::gpu::queue {

std::uint64_t SharedEvent::signaled_value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

void SharedEvent::signal(std::uint64_t value) {
  std::vector<std::pair<std::uint64_t, Listener>> due;
  {
    const std::lock_guard lock(mutex_);
    if (value <= value_) return;
    value_ = value;
    const auto waiting = std::stable_partition(listeners_.begin(), listeners_.end(),
                                               [value](const auto& each) { return each.first <= value; });
    due.assign(std::make_move_iterator(listeners_.begin()), std::make_move_iterator(waiting));
    listeners_.erase(listeners_.begin(), waiting);
  }
  reached_->notify_all();
  for (const auto& [at, listener] : due) listener(value);
}

void SharedEvent::notify(std::uint64_t value, Listener listener) {
  std::uint64_t now = 0;
  {
    const std::lock_guard lock(mutex_);
    now = value_;
    if (now < value) {
      listeners_.emplace_back(value, std::move(listener));
      return;
    }
  }
  listener(now);
}

bool SharedEvent::wait(std::uint64_t value, std::chrono::nanoseconds timeout) const {
  // A longer one would pass the clock's last moment.
  constexpr std::chrono::hours kLongest{24 * 365};
  std::unique_lock lock(mutex_);
  return reached_->wait_for(lock, std::min<std::chrono::nanoseconds>(timeout, kLongest),
                            [this, value] { return value_ >= value; });
}

void SharedEvent::unlock_in_child() {
  // Its waiters are threads that the child does not have; to destroy it would be to wait for them.
  static_cast<void>(reached_.release());
  reached_ = std::make_unique<std::condition_variable>();
  mutex_.unlock();
}

}  // namespace anymps::gpu::queue
