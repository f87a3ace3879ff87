#include "gpu/executor.h"

#include <atomic>

#include "gpu/thread_pool.h"

namespace anymps::gpu {
namespace {

std::atomic<Executor*> current{nullptr};

}  // namespace

Executor& executor() {
  if (Executor* chosen = current.load(std::memory_order_acquire)) return *chosen;
  // Never destroyed: threads that outlive main may still use it.
  static auto* const plain = new ThreadPool();
  return *plain;
}

void set_executor(Executor* chosen) { current.store(chosen, std::memory_order_release); }

}  // namespace anymps::gpu
