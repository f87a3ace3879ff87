// DeviceThreads: the threads that run queues. A queue that has work is run by one of them at a time; which one does not
// matter to it. They start with the first work, and a forked child starts its own. The thread that was idle last is
// called first: it has in its cache what the work before left there.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace anymps::gpu::queue {

struct QueueState;

class DeviceThreads {
 public:
  static DeviceThreads& instance();

  explicit DeviceThreads(unsigned threads);
  ~DeviceThreads();
  DeviceThreads(const DeviceThreads&) = delete;
  DeviceThreads& operator=(const DeviceThreads&) = delete;

  // Whether the calling thread is one of them.
  static bool is_one() noexcept;

  // The queue is run soon, unless somebody else takes it over before.
  void schedule(std::shared_ptr<QueueState> queue);

  const std::uint32_t generation;

 private:
  struct Idle {
    std::condition_variable called;
    bool is_called = false;
  };
  void work();
  void call_last_idle();

  const unsigned most_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<QueueState>> ready_;
  std::vector<std::thread> threads_;
  std::vector<Idle*> idle_;
  bool stop_ = false;
};

}  // namespace anymps::gpu::queue
