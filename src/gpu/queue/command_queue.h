// CommandQueue: runs command buffers in the order in which they were enqueued (Metal's MTLCommandQueue). Queues run
// beside each other; nothing but events orders one against another.
//
// All functions may be called from any thread. Buffers in flight keep what they need of a queue alive. A forked child
// has the parent's queues without the buffers that were in flight, which end there with an error.
#pragma once

#include <cstddef>
#include <memory>

#include "gpu/queue/command_buffer.h"

namespace anymps::gpu::queue {

class CommandQueue {
 public:
  // As many as Metal allows a queue where nothing is said.
  static constexpr std::size_t kMaxCommandBuffers = 64;

  // A queue has at most that many buffers that have not completed.
  explicit CommandQueue(std::size_t max_command_buffers = kMaxCommandBuffers);

  // An empty buffer. Waits, lending a hand, while the queue has as many as it may have.
  std::shared_ptr<CommandBuffer> make_command_buffer();

  // Waits, lending a hand, until what was committed so far has completed, or cannot go on before somebody else signals
  // an event or commits a buffer.
  void run_until_idle();

 private:
  const std::shared_ptr<QueueState> state_;
};

}  // namespace anymps::gpu::queue
