// The device's queues as operators use them: each stream has a gpu::queue::CommandQueue, and the command buffer that is
// being encoded. The work of a stream is done in order, that of two beside each other. Off unless ANYMPS_QUEUE=async:
// operators run when they are called, and all of this does nothing. With ANYMPS_RACES=adverse it is on, and nothing
// runs before the host waits.
//
// Work is given to the calling thread's stream.
//
// What looks at the device's memory from the host, or writes to it, calls drain() first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backend/runtime/backward_thread.h"
#include "backend/runtime/call_site.h"
#include "gpu/queue/command_queue.h"
#include "gpu/stream.h"

namespace anymps::backend::runtime {

// Operators that run together, as one command. Others can be added until something else is encoded, or somebody waits.
class QueuedChain {
 public:
  virtual ~QueuedChain() = default;
  virtual void run() = 0;
  virtual std::size_t operators() const = 0;
};

class DeviceQueue {
 public:
  // Whether operators of this thread go into a queue now. They do not on a thread that runs a queue. Throws where
  // ANYMPS_QUEUE says neither.
  static bool takes_operators();

  // From here until as many take_operators(), every operator runs when it is called: for those who look at each then
  // (check, logs, captures).
  static void take_no_operators();
  static void take_operators();

  // Work on `bytes` of memory in all. What it throws is an error of the device.
  template <typename Work>
  static void encode(std::size_t bytes, Work&& work);

  // An operator on `bytes` of memory that may run together with those before it. `extend` is given the chain of these,
  // or nullptr; it adds the operator and returns nullptr, or returns a new chain with it.
  template <typename Extend>
  static void chain(std::size_t bytes, Extend&& extend);

  // Whether all that was encoded has run, on all streams.
  static bool is_idle() { return in_flight_.load(std::memory_order_acquire) == 0; }

  // Returns when it has. At once on a thread that runs a queue.
  static void drain() {
    if (!is_idle()) drain_all();
  }
  // The same of one stream.
  static void drain(gpu::StreamId stream);

  // Hands over what was encoded on this thread's stream, so that the device runs it whatever the host does next.
  static void flush();

  // The host looks how far the device is, and may do so until it is done: one that does nothing before runs here.
  static void let_run();

  // Keeps what a command threw as an error of the device, called at the line of the CallSiteScope that is open.
  static void report(const std::exception_ptr& error) noexcept;

  // Commands that were encoded since the process began, for tests and benchmarks.
  static std::uint64_t encoded() noexcept;

 private:
  // A command while it runs.
  class Running {
   public:
    explicit Running(std::size_t operators) noexcept;
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    const std::size_t operators_;
    const CallSiteScope no_line_;
  };
  static void drain_all();

  DeviceQueue() = default;
  static DeviceQueue& of(gpu::StreamId stream);
  static DeviceQueue& of_current_stream() { return of(gpu::current_stream()); }
  void run_all();
  // Of the open buffer.
  gpu::queue::CommandEncoder& encoder();
  template <typename Work>
  void add_command(std::size_t operators, Work&& work);
  // The chain becomes a command.
  void close_chain();
  void encoded_one(std::size_t bytes);
  // Hands the open buffer over where it is full.
  void commit_if_full();
  void commit();

  // Of all streams. The device writes to it after each command: nothing else may lie on its line.
  alignas(64) static std::atomic<std::size_t> in_flight_;
  alignas(64) static std::atomic<unsigned> watchers_;

  std::mutex mutex_;
  gpu::queue::CommandQueue queue_;
  std::shared_ptr<gpu::queue::CommandBuffer> open_;
  std::optional<gpu::queue::CommandEncoder> encoder_;  // there while open_ is
  std::unique_ptr<QueuedChain> chain_;                 // behind what is in it
  std::size_t commands_ = 0;                           // in it
  std::size_t bytes_ = 0;
  static std::atomic<std::uint64_t> encoded_;
};

template <typename Work>
void DeviceQueue::add_command(std::size_t operators, Work&& work) {
  encoder().encode([operators, work = std::forward<Work>(work)]() mutable {
    const Running running(operators);
    // What it holds goes before the command counts as done.
    auto own = std::move(work);
    try {
      own();
    } catch (...) {
      report(std::current_exception());
    }
  });
}

template <typename Work>
void DeviceQueue::encode(std::size_t bytes, Work&& work) {
  BackwardThread::stay_on_caller();
  DeviceQueue& queue = of_current_stream();
  const std::lock_guard lock(queue.mutex_);
  queue.close_chain();
  queue.add_command(1, std::forward<Work>(work));
  queue.encoded_one(bytes);
  queue.commit_if_full();
}

template <typename Extend>
void DeviceQueue::chain(std::size_t bytes, Extend&& extend) {
  BackwardThread::stay_on_caller();
  DeviceQueue& queue = of_current_stream();
  const std::lock_guard lock(queue.mutex_);
  if (std::unique_ptr<QueuedChain> fresh = extend(queue.chain_.get())) {
    queue.close_chain();
    queue.commit_if_full();
    queue.chain_ = std::move(fresh);
  }
  queue.encoded_one(bytes);
}

}  // namespace anymps::backend::runtime
