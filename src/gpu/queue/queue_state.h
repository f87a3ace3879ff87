// QueueState: what a queue, its buffers and the threads that run it share.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "gpu/queue/command_buffer.h"
#include "gpu/queue/fork_registry.h"

namespace anymps::gpu::queue {

struct QueueState final : ForkMember, std::enable_shared_from_this<QueueState> {
  using Lock = std::unique_lock<std::mutex>;

  // Who runs the queue: nobody, a device thread that was asked to, or a thread that does.
  enum class Driver : std::uint8_t { kNone, kAsked, kRunning };

  explicit QueueState(std::size_t most_open) : max_open(most_open) { join(); }
  ~QueueState() { leave(); }

  // The functions that take a lock want it held, and hold it when they return.

  // Whether the first buffer can be run now.
  bool runnable() const;
  // Has a device thread run the queue if nobody does.
  void ask(Lock& lock);
  // Runs buffers in their order while there are some to run and `done` is false. driver must be kRunning.
  template <typename Done>
  void drive(Lock& lock, const Done& done);
  // Returns when `done` is true; runs the queue meanwhile where nobody else does.
  template <typename Done>
  void wait(Lock& lock, const Done& done);
  // By a device thread that was asked.
  void run_as_asked();

  void lock_before_fork() override { mutex.lock(); }
  void unlock_in_parent() override { mutex.unlock(); }
  void unlock_in_child() override;

  std::mutex mutex;
  // A buffer's status, or the driver.
  std::unique_ptr<std::condition_variable> changed = std::make_unique<std::condition_variable>();
  std::deque<std::shared_ptr<CommandBuffer>> order;  // enqueued and not finished
  Driver driver = Driver::kNone;
  bool blocked = false;  // the first buffer waits for an event
  std::size_t open = 0;  // buffers that were made and have not finished
  const std::size_t max_open;

 private:
  // Runs the first buffer: to its end, or to a wait for an event that has not got there.
  void run_front(Lock& lock);
  struct Blocked {
    std::shared_ptr<SharedEvent> event;
    std::uint64_t value = 0;
  };
  static Blocked run_commands(CommandBuffer& buffer, std::exception_ptr& error);
  void begin(CommandBuffer& buffer, Lock& lock);
  void finish(CommandBuffer& buffer, std::exception_ptr error, Lock& lock);
};

template <typename Done>
void QueueState::drive(Lock& lock, const Done& done) {
  while (!done() && runnable()) run_front(lock);
  driver = Driver::kNone;
  if (runnable()) ask(lock);
  changed->notify_all();
}

template <typename Done>
void QueueState::wait(Lock& lock, const Done& done) {
  while (!done()) {
    if (driver != Driver::kRunning && runnable()) {
      driver = Driver::kRunning;
      drive(lock, done);
    } else {
      changed->wait(lock);
    }
  }
}

}  // namespace anymps::gpu::queue
