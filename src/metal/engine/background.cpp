#include "metal/engine/background.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace anymps::metal::engine {
namespace {

class Worker {
 public:
  static Worker& instance() {
    static Worker worker;
    return worker;
  }

  bool is_here() const { return getpid() == process_; }

  void add(std::packaged_task<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    changed_.notify_one();
  }

  // The process ends: what has begun is finished, since nothing can stop it, and the rest is left.
  ~Worker() {
    if (!is_here()) {
      if (thread_.joinable()) thread_.detach();
      return;
    }
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
      changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  Worker() = default;

  void run() {
    for (;;) {
      std::packaged_task<void()> task;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ends_ || !tasks_.empty(); });
        if (ends_) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

  const pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace

std::shared_future<void> in_background(std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  std::shared_future<void> done = task.get_future().share();
  if (Worker::instance().is_here()) {
    Worker::instance().add(std::move(task));
  } else {
    task();
  }
  return done;
}

}  // namespace anymps::metal::engine
