#include "metal/engine/background.h"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "gpu/executor.h"

namespace anymps::metal::engine {
namespace {

using Task = std::packaged_task<void()>;

class Workers {
 public:
  Workers() = default;
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void add(Need need, Task task) {
    std::unique_lock lock(mutex_);
    const std::size_t most = need == Need::kSoon ? gpu::executor().threads() : 1;
    if (threads_.size() < most && idle_ <= soon_.size() + whenever_.size()) start_thread();
    if (threads_.empty()) {  // the system gives none
      lock.unlock();
      return task();
    }
    (need == Need::kSoon ? soon_ : whenever_).push_back(std::move(task));
    changed_.notify_all();
  }

  // Waits until nothing runs, and keeps it so until resume(), with the lock held.
  void pause() {
    std::unique_lock lock(mutex_);
    paused_ = true;
    changed_.wait(lock, [&] { return running_ == 0; });
    lock.release();
  }
  void resume() {
    paused_ = false;
    mutex_.unlock();
    changed_.notify_all();
  }

  // What one that is paused has not begun.
  void take_over(Workers& paused) {
    soon_.swap(paused.soon_);
    whenever_.swap(paused.whenever_);
  }

 private:
  void start_thread() {
    try {
      threads_.emplace_back([this] { run(); });
    } catch (const std::system_error&) {
      // Those that there are do the work.
    }
  }

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [&] { return ends_ || can_take(); });
      --idle_;
      if (ends_) return;
      const bool soon = !soon_.empty();
      std::deque<Task>& tasks = soon ? soon_ : whenever_;
      Task task = std::move(tasks.front());
      tasks.pop_front();
      ++running_;
      if (!soon) whenever_runs_ = true;
      lock.unlock();
      task();
      task = {};  // what it holds may take long to destroy
      lock.lock();
      --running_;
      if (!soon) whenever_runs_ = false;
      changed_.notify_all();
    }
  }
  bool can_take() const { return !paused_ && (!soon_.empty() || (!whenever_.empty() && !whenever_runs_)); }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> soon_;
  std::deque<Task> whenever_;
  std::size_t idle_ = 0;
  std::size_t running_ = 0;
  bool whenever_runs_ = false;
  bool paused_ = false;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

// Those of this process, until it ends.
class OfProcess {
 public:
  static OfProcess& instance() {
    static OfProcess workers;
    return workers;
  }

  Workers& workers() { return *workers_.load(); }

  ~OfProcess() { delete workers_.exchange(nullptr); }
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;

 private:
  OfProcess() { pthread_atfork(&before_fork, &in_parent, &in_child); }

  static void before_fork() {
    if (Workers* workers = workers_.load()) workers->pause();
  }
  static void in_parent() {
    if (Workers* workers = workers_.load()) workers->resume();
  }
  // The parent's are left as they are: their threads are not here, and nothing of them can be relied on.
  static void in_child() {
    Workers* parents = workers_.load();
    if (parents == nullptr) return;
    auto* own = new Workers;
    own->take_over(*parents);
    workers_.store(own);
  }

  // Null behind the end.
  static inline std::atomic<Workers*> workers_ = new Workers;
};

}  // namespace

std::shared_future<void> in_background(Need need, std::function<void()> work) {
  Task task(std::move(work));
  std::shared_future<void> done = task.get_future().share();
  OfProcess::instance().workers().add(need, std::move(task));
  return done;
}

}  // namespace anymps::metal::engine
