#include "gpu/thread_pool.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "gpu/support/fork_generation.h"

namespace anymps::gpu {
namespace {

// Several ranges for each thread, so that one that started late or was held up takes fewer.
constexpr std::size_t kRangesPerThread = 4;

thread_local bool inside_a_body = false;

}  // namespace

// One call. It lives on its caller's stack: who works on it is counted under the pool's mutex, and the caller leaves
// only when it is in nobody's hands.
struct ThreadPool::Job {
  const Executor::Body& body;
  const std::size_t count;
  const std::size_t range;
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure{};
  unsigned helpers = 0;

  void run() {
    inside_a_body = true;
    for (;;) {
      const std::size_t begin = next.fetch_add(range, std::memory_order_relaxed);
      if (begin >= count || failed.load(std::memory_order_relaxed)) break;
      try {
        body(begin, begin + std::min(range, count - begin));
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
    inside_a_body = false;
  }
};

struct ThreadPool::Workers {
  explicit Workers(unsigned count) {
    try {
      for (unsigned i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system gives no more threads; those that there are, and the caller, do the work.
    }
  }

  ~Workers() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    job_came.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      job_came.wait(lock, [this] { return stop || !jobs.empty(); });
      if (stop) return;
      Job& job = *jobs.front();
      ++job.helpers;
      lock.unlock();
      job.run();
      lock.lock();
      std::erase(jobs, &job);
      if (--job.helpers == 0) helper_left.notify_all();
    }
  }

  void help(Job& job, std::size_t helpers) {
    {
      const std::lock_guard lock(mutex);
      jobs.push_back(&job);
    }
    for (std::size_t i = 0; i < std::min(helpers, threads.size()); ++i) job_came.notify_one();
    job.run();
    std::unique_lock lock(mutex);
    std::erase(jobs, &job);
    helper_left.wait(lock, [&job] { return job.helpers == 0; });
  }

  const std::uint32_t generation = support::fork_generation();
  std::mutex mutex;
  std::condition_variable job_came;
  std::condition_variable helper_left;
  std::deque<Job*> jobs;
  bool stop = false;
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(unsigned threads)
    : threads_(threads != 0 ? threads : std::max(1U, std::thread::hardware_concurrency())) {}

ThreadPool::~ThreadPool() {
  Workers* workers = workers_.load();
  if (workers != nullptr && workers->generation == support::fork_generation()) delete workers;
}

ThreadPool::Workers& ThreadPool::workers() {
  return support::of_this_generation(workers_, [this] { return new Workers(threads_ - 1); });
}

void ThreadPool::parallel_for(std::size_t count, std::size_t grain, const Body& body) {
  if (count == 0) return;
  const std::size_t ranges = threads_ * kRangesPerThread;
  const std::size_t range = std::max({grain, std::size_t{1}, count / ranges + (count % ranges != 0)});
  if (threads_ == 1 || inside_a_body || count <= range) {
    body(0, count);
    return;
  }
  Job job{.body = body, .count = count, .range = range};
  workers().help(job, (count - 1) / range);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace anymps::gpu
