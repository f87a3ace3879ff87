#include "gpu/queue/queue_state.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "gpu/queue/device_threads.h"

namespace anymps::gpu::queue {
namespace {

std::uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

bool QueueState::runnable() const {
  return !blocked && !order.empty() && order.front()->status_ >= CommandBufferStatus::kCommitted;
}

void QueueState::ask(Lock&) {
  if (driver != Driver::kNone) return;
  driver = Driver::kAsked;
  DeviceThreads::instance().schedule(shared_from_this());
}

void QueueState::run_as_asked() {
  Lock lock(mutex);
  // Somebody who waits may have taken over.
  if (driver != Driver::kAsked) return;
  driver = Driver::kRunning;
  drive(lock, [] { return false; });
}

void QueueState::run_front(Lock& lock) {
  const std::shared_ptr<CommandBuffer> buffer = order.front();
  if (buffer->status_ == CommandBufferStatus::kCommitted) begin(*buffer, lock);
  std::exception_ptr error = buffer->error_;
  lock.unlock();
  Blocked wait = run_commands(*buffer, error);
  if (wait.event == nullptr) {
    lock.lock();
    finish(*buffer, std::move(error), lock);
    return;
  }
  lock.lock();
  buffer->error_ = std::move(error);
  blocked = true;
  lock.unlock();
  wait.event->notify(wait.value, [self = shared_from_this()](std::uint64_t) {
    Lock again(self->mutex);
    self->blocked = false;
    if (self->runnable()) self->ask(again);
    self->changed->notify_all();
  });
  lock.lock();
}

QueueState::Blocked QueueState::run_commands(CommandBuffer& buffer, std::exception_ptr& error) {
  using Kind = CommandList::Command::Kind;
  CommandList& commands = buffer.commands_;
  for (; !commands.empty(); commands.pop_front()) {
    CommandList::Command& command = *commands.front();
    if (command.kind == Kind::kWork) {
      if (error) continue;
      try {
        command.run(command);
      } catch (...) {
        error = std::current_exception();
      }
      continue;
    }
    auto& on_event = static_cast<CommandList::EventCommand&>(command);
    if (command.kind == Kind::kSignal) {
      on_event.event->signal(on_event.value);
    } else if (on_event.event->signaled_value() < on_event.value) {
      return {on_event.event, on_event.value};
    }
  }
  return {};
}

void QueueState::begin(CommandBuffer& buffer, Lock& lock) {
  buffer.status_ = CommandBufferStatus::kScheduled;
  buffer.gpu_start_ns_ = now_ns();
  changed->notify_all();
  lock.unlock();
  for (const CommandBuffer::Handler& handler : std::exchange(buffer.scheduled_handlers_, {})) handler(buffer);
  lock.lock();
}

void QueueState::finish(CommandBuffer& buffer, std::exception_ptr error, Lock& lock) {
  buffer.error_ = std::move(error);
  buffer.status_ = buffer.error_ ? CommandBufferStatus::kError : CommandBufferStatus::kCompleted;
  buffer.gpu_end_ns_ = now_ns();
  lock.unlock();
  for (const CommandBuffer::Handler& handler : std::exchange(buffer.completed_handlers_, {})) handler(buffer);
  lock.lock();
  buffer.finished_ = true;
  order.pop_front();
  --open;
  changed->notify_all();
}

void QueueState::unlock_in_child() {
  // Its waiters are threads that the child does not have; to destroy it would be to wait for them.
  static_cast<void>(changed.release());
  changed = std::make_unique<std::condition_variable>();
  std::deque<std::shared_ptr<CommandBuffer>> kept;
  for (std::shared_ptr<CommandBuffer>& buffer : order) {
    if (buffer->status_ < CommandBufferStatus::kCommitted) {
      kept.push_back(std::move(buffer));
      continue;
    }
    // A thread of the parent may be amid its commands: they stay as they are.
    buffer->status_ = CommandBufferStatus::kError;
    buffer->error_ = std::make_exception_ptr(
        std::runtime_error("the process forked while this command buffer was in flight; the parent runs it"));
    buffer->finished_ = true;
    --open;
    new std::shared_ptr<CommandBuffer>(std::move(buffer));
  }
  order = std::move(kept);
  driver = Driver::kNone;
  blocked = false;
  mutex.unlock();
}

}  // namespace anymps::gpu::queue
