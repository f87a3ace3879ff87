#include "gpu/queue/device_threads.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <utility>

#include "gpu/queue/queue_state.h"
#include "gpu/support/fork_generation.h"

namespace anymps::gpu::queue {
namespace {

thread_local bool is_device_thread = false;

}  // namespace

bool DeviceThreads::is_one() noexcept { return is_device_thread; }

DeviceThreads& DeviceThreads::instance() {
  // Never destroyed: queues may be used while static objects are being torn down.
  static std::atomic<DeviceThreads*> current{nullptr};
  return support::of_this_generation(
      current, [] { return new DeviceThreads(std::max(1U, std::thread::hardware_concurrency())); });
}

DeviceThreads::DeviceThreads(unsigned threads) : generation(support::fork_generation()), most_(threads) {}

DeviceThreads::~DeviceThreads() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    while (!idle_.empty()) call_last_idle();
  }
  for (std::thread& thread : threads_) thread.join();
}

void DeviceThreads::schedule(std::shared_ptr<QueueState> queue) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(queue));
  if (!idle_.empty()) {
    call_last_idle();
  } else if (threads_.size() < most_) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system gives no more threads. Who waits for a queue runs it.
    }
  }
}

void DeviceThreads::call_last_idle() {
  Idle& last = *idle_.back();
  idle_.pop_back();
  last.is_called = true;
  last.called.notify_one();
}

void DeviceThreads::work() {
  is_device_thread = true;
  Idle self;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stop_) return;
    if (ready_.empty()) {
      idle_.push_back(&self);
      self.called.wait(lock, [&self] { return self.is_called; });
      self.is_called = false;
      continue;
    }
    std::shared_ptr<QueueState> queue = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    queue->run_as_asked();
    queue.reset();
    lock.lock();
  }
}

}  // namespace anymps::gpu::queue
