// The device's queue as operators use it: a gpu::queue::CommandQueue, and the command buffer that is being encoded. All
// streams share it, so their work is ordered. Off unless ANYMPS_QUEUE=async: operators run when they are called, and
// all of this does nothing. With ANYMPS_RACES=adverse it is on, and nothing runs before the host waits.
//
// What looks at the device's memory from the host, or writes to it, calls drain() first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/runtime/backward_thread.h"
#include "gpu/queue/command_queue.h"

namespace anymps::backend::runtime {

class DeviceQueue {
 public:
  // Whether operators of this thread go into a queue now. They do not while every operator is watched (traces with
  // details, check, logs), nor on a thread that runs a queue. Throws where ANYMPS_QUEUE says neither.
  static bool takes_operators();

  // Work on `bytes` of memory in all. What it throws is an error of the device.
  template <typename Work>
  static void encode(std::size_t bytes, Work&& work);

  // Whether all that was encoded has run.
  static bool is_idle() { return in_flight_.load(std::memory_order_acquire) == 0; }

  // Returns when it has. At once on a thread that runs the queue.
  static void drain() {
    if (!is_idle()) drain_all();
  }

  // Commands that were encoded since the process began, for tests and benchmarks.
  static std::uint64_t encoded() noexcept;

 private:
  // A command while it runs.
  class Running {
   public:
    Running() noexcept;
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
  };
  static void report(const std::exception_ptr& error) noexcept;
  static void drain_all();

  DeviceQueue();
  static DeviceQueue& instance();
  gpu::queue::CommandBuffer& open_buffer();
  void encoded_one(std::size_t bytes);
  void commit();

  static std::atomic<std::size_t> in_flight_;

  std::mutex mutex_;
  gpu::queue::CommandQueue queue_;
  std::shared_ptr<gpu::queue::CommandBuffer> open_;
  std::size_t commands_ = 0;  // in it
  std::size_t bytes_ = 0;
  std::atomic<std::uint64_t> encoded_{0};
};

template <typename Work>
void DeviceQueue::encode(std::size_t bytes, Work&& work) {
  BackwardThread::stay_on_caller();
  DeviceQueue& queue = instance();
  const std::lock_guard lock(queue.mutex_);
  queue.open_buffer().make_encoder().encode([work = std::forward<Work>(work)]() mutable {
    const Running running;
    // What it holds goes before the command counts as done.
    auto own = std::move(work);
    try {
      own();
    } catch (...) {
      report(std::current_exception());
    }
  });
  queue.encoded_one(bytes);
}

}  // namespace anymps::backend::runtime
