#include "gpu/queue/command_queue.h"

#include <algorithm>

#include "gpu/queue/queue_state.h"

namespace anymps::gpu::queue {

CommandQueue::CommandQueue(std::size_t max_command_buffers)
    : state_(std::make_shared<QueueState>(std::max<std::size_t>(max_command_buffers, 1))) {}

std::shared_ptr<CommandBuffer> CommandQueue::make_command_buffer() {
  QueueState::Lock lock(state_->mutex);
  state_->wait(lock, [this] { return state_->open < state_->max_open; });
  ++state_->open;
  lock.unlock();
  return std::shared_ptr<CommandBuffer>(new CommandBuffer(state_));
}

void CommandQueue::run_until_idle() {
  QueueState::Lock lock(state_->mutex);
  state_->wait(lock, [this] { return state_->driver != QueueState::Driver::kRunning && !state_->runnable(); });
}

}  // namespace anymps::gpu::queue
