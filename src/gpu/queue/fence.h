// Fence: orders the encoders of one queue by what they update (Metal's MTLFence). Encoders run in the order in which
// they were encoded, so whoever waits for a fence begins after all updates encoded before it; a fence is there so that
// programs that use them run, and are told where they use one with two queues, which Metal forbids.
#pragma once

#include <atomic>

namespace anymps::gpu::queue {

class CommandQueue;

class Fence {
 public:
  Fence() = default;
  Fence(const Fence&) = delete;
  Fence& operator=(const Fence&) = delete;

 private:
  friend class CommandEncoder;
  // Throws std::logic_error where another queue has it.
  void use_in(const void* queue);

  std::atomic<const void*> queue_{nullptr};
};

}  // namespace anymps::gpu::queue
