// The plain pool: the executor of a process without PyTorch.
//
// Its threads start with the first call that has work for them. Calls from several threads share them; every caller
// works on its own ranges too, so none waits for a thread to be free. A forked child has none of the threads and starts
// its own when it needs them; what it must not do is return from a body that it was forked in.
#pragma once

#include <atomic>
#include <cstddef>

#include "gpu/executor.h"

namespace anymps::gpu {

class ThreadPool final : public Executor {
 public:
  // `threads` counts the caller's; 0 is one for each core that this process may use.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void parallel_for(std::size_t count, std::size_t grain, const Body& body) override;
  unsigned threads() const override { return threads_; }

 private:
  struct Job;
  struct Workers;

  Workers& workers();

  const unsigned threads_;
  std::atomic<Workers*> workers_{nullptr};
};

}  // namespace anymps::gpu
