// CommandBuffer: work that a queue runs as one (Metal's MTLCommandBuffer). A buffer is encoded by one thread at a time
// and committed once; then the device's threads run its commands in order.
//
// A command that throws ends the work of its buffer: commands behind it are not run, and the exception is the buffer's
// error. Its waits and signals are kept all the same, so that nobody waits for ever; other buffers go on.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/queue/command_list.h"
#include "gpu/queue/fence.h"
#include "gpu/queue/shared_event.h"

namespace anymps::gpu::queue {

class CommandBuffer;
struct QueueState;

enum class CommandBufferStatus : std::uint8_t { kNotEnqueued, kEnqueued, kCommitted, kScheduled, kCompleted, kError };

// Encodes the commands of one pass. One is open at a time in a buffer, and it is ended before the buffer is committed;
// what breaks that throws std::logic_error.
class CommandEncoder {
 public:
  CommandEncoder(CommandEncoder&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  CommandEncoder& operator=(CommandEncoder&&) = delete;
  ~CommandEncoder() { end(); }

  // Any callable; it is called once at most, and destroyed on the thread that called it.
  template <typename Work>
  void encode(Work&& work);
  // Those that wait behind an update of the same fence begin when it has been reached.
  void update(Fence& fence);
  void wait(Fence& fence);
  void end() noexcept;

 private:
  friend class CommandBuffer;
  explicit CommandEncoder(CommandBuffer& buffer) : buffer_(&buffer) {}

  CommandBuffer* buffer_;
};

class CommandBuffer : public std::enable_shared_from_this<CommandBuffer> {
 public:
  using Handler = std::function<void(CommandBuffer&)>;

  ~CommandBuffer();
  CommandBuffer(const CommandBuffer&) = delete;
  CommandBuffer& operator=(const CommandBuffer&) = delete;

  CommandEncoder make_encoder();
  // Between encoders: the queue waits until the event has the value, or gives it the value.
  void encode_wait(std::shared_ptr<SharedEvent> event, std::uint64_t value);
  void encode_signal(std::shared_ptr<SharedEvent> event, std::uint64_t value);

  // Called by the thread that runs the buffer: before its first command, and after its last one. Only before commit().
  // A handler must not throw, nor wait for its own buffer.
  void add_scheduled_handler(Handler handler);
  void add_completed_handler(Handler handler);

  // Takes the buffer's place in the queue: buffers run in the order of their places. Nothing where it has one.
  void enqueue();
  // Hands the buffer to the device, and takes its place where it has none.
  void commit();

  // The thread that waits lends the queue a hand meanwhile. The buffer must be committed.
  void wait_until_scheduled();
  // Returns when the completed handlers have been called, too.
  void wait_until_completed();

  CommandBufferStatus status() const;
  // Of the command that threw; nullptr where none did.
  std::exception_ptr error() const;
  // When its first command began and its last one ended, in nanoseconds on the monotonic clock; 0 before that.
  std::uint64_t gpu_start_ns() const;
  std::uint64_t gpu_end_ns() const;

  void set_label(std::string label) { label_ = std::move(label); }
  const std::string& label() const { return label_; }

 private:
  friend class CommandEncoder;
  friend class CommandQueue;
  friend struct QueueState;

  explicit CommandBuffer(std::shared_ptr<QueueState> state) : state_(std::move(state)) {}
  void require_open(const char* what) const;
  void require_between_encoders(const char* what) const;
  void wait_for(CommandBufferStatus least);

  const std::shared_ptr<QueueState> state_;
  CommandList commands_;
  std::vector<Handler> scheduled_handlers_;
  std::vector<Handler> completed_handlers_;
  std::string label_;
  bool encoding_ = false;
  // Below, under the queue's mutex once the buffer is enqueued.
  CommandBufferStatus status_ = CommandBufferStatus::kNotEnqueued;
  bool finished_ = false;  // its completed handlers have been called
  std::exception_ptr error_;
  std::uint64_t gpu_start_ns_ = 0;
  std::uint64_t gpu_end_ns_ = 0;
};

template <typename Work>
void CommandEncoder::encode(Work&& work) {
  buffer_->commands_.add_work(std::forward<Work>(work));
}

}  // namespace anymps::gpu::queue
