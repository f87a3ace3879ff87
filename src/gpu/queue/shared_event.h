// SharedEvent: a number that only grows. Queues and the host signal it and wait for it (Metal's MTLSharedEvent).
//
// All functions may be called from any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/queue/fork_registry.h"

namespace anymps::gpu::queue {

class SharedEvent final : public ForkMember {
 public:
  using Listener = std::function<void(std::uint64_t value)>;

  SharedEvent() { join(); }
  ~SharedEvent() { leave(); }

  std::uint64_t signaled_value() const;

  // Nothing where the event has that value or a higher one. Listeners are called here, on the caller's thread.
  void signal(std::uint64_t value);

  // Calls `listener` once, when the event reaches `value`: at once where it has.
  void notify(std::uint64_t value, Listener listener);

  // Whether the event reached `value` in time.
  bool wait(std::uint64_t value, std::chrono::nanoseconds timeout) const;

  void lock_before_fork() override { mutex_.lock(); }
  void unlock_in_parent() override { mutex_.unlock(); }
  void unlock_in_child() override;

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<std::condition_variable> reached_ = std::make_unique<std::condition_variable>();
  std::uint64_t value_ = 0;
  std::vector<std::pair<std::uint64_t, Listener>> listeners_;
};

}  // namespace anymps::gpu::queue
