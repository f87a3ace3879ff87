#include "gpu/queue/command_buffer.h"

#include <stdexcept>

#include "gpu/queue/queue_state.h"

namespace anymps::gpu::queue {
namespace {

using Lock = QueueState::Lock;

}  // namespace

void Fence::use_in(const void* queue) {
  const void* before = nullptr;
  if (!queue_.compare_exchange_strong(before, queue) && before != queue) {
    throw std::logic_error("a fence orders encoders of one command queue; use a shared event between queues");
  }
}

void CommandEncoder::update(Fence& fence) { fence.use_in(buffer_->state_.get()); }

void CommandEncoder::wait(Fence& fence) { fence.use_in(buffer_->state_.get()); }

void CommandEncoder::end() noexcept {
  if (buffer_ != nullptr) buffer_->encoding_ = false;
  buffer_ = nullptr;
}

CommandBuffer::~CommandBuffer() {
  // One that was committed is alive until it has finished, and one that was only enqueued is in the queue.
  if (status_ != CommandBufferStatus::kNotEnqueued) return;
  const Lock lock(state_->mutex);
  --state_->open;
  state_->changed->notify_all();
}

void CommandBuffer::require_open(const char* what) const {
  if (status() >= CommandBufferStatus::kCommitted) {
    throw std::logic_error(std::string(what) + " after the command buffer was committed");
  }
}

void CommandBuffer::require_between_encoders(const char* what) const {
  require_open(what);
  if (encoding_) throw std::logic_error(std::string(what) + " while an encoder of the command buffer is open");
}

CommandEncoder CommandBuffer::make_encoder() {
  require_between_encoders("an encoder was asked for");
  encoding_ = true;
  return CommandEncoder(*this);
}

void CommandBuffer::encode_wait(std::shared_ptr<SharedEvent> event, std::uint64_t value) {
  require_between_encoders("a wait was encoded");
  commands_.add_event(CommandList::Command::Kind::kWait, std::move(event), value);
}

void CommandBuffer::encode_signal(std::shared_ptr<SharedEvent> event, std::uint64_t value) {
  require_between_encoders("a signal was encoded");
  commands_.add_event(CommandList::Command::Kind::kSignal, std::move(event), value);
}

void CommandBuffer::add_scheduled_handler(Handler handler) {
  require_open("a handler was added");
  scheduled_handlers_.push_back(std::move(handler));
}

void CommandBuffer::add_completed_handler(Handler handler) {
  require_open("a handler was added");
  completed_handlers_.push_back(std::move(handler));
}

void CommandBuffer::enqueue() {
  const Lock lock(state_->mutex);
  if (status_ != CommandBufferStatus::kNotEnqueued) return;
  status_ = CommandBufferStatus::kEnqueued;
  state_->order.push_back(shared_from_this());
}

void CommandBuffer::commit() {
  require_between_encoders("a commit came");
  enqueue();
  Lock lock(state_->mutex);
  status_ = CommandBufferStatus::kCommitted;
  if (state_->runnable()) state_->ask(lock);
}

void CommandBuffer::wait_for(CommandBufferStatus least) {
  Lock lock(state_->mutex);
  if (status_ < CommandBufferStatus::kCommitted) {
    throw std::logic_error("a command buffer was waited for that was not committed");
  }
  state_->wait(lock, [&] { return finished_ || (least == CommandBufferStatus::kScheduled && status_ >= least); });
}

void CommandBuffer::wait_until_scheduled() { wait_for(CommandBufferStatus::kScheduled); }

void CommandBuffer::wait_until_completed() { wait_for(CommandBufferStatus::kCompleted); }

CommandBufferStatus CommandBuffer::status() const {
  const Lock lock(state_->mutex);
  return status_;
}

std::exception_ptr CommandBuffer::error() const {
  const Lock lock(state_->mutex);
  return error_;
}

std::uint64_t CommandBuffer::gpu_start_ns() const {
  const Lock lock(state_->mutex);
  return gpu_start_ns_;
}

std::uint64_t CommandBuffer::gpu_end_ns() const {
  const Lock lock(state_->mutex);
  return gpu_end_ns_;
}

}  // namespace anymps::gpu::queue
