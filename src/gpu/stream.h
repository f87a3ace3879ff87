// Streams: which of the device's queues a thread gives its work to. PyTorch 2.15 has a default stream and a pool of
// others (torch.mps.Stream). A stream here is a number.
#pragma once

#include <cstdint>

namespace anymps::gpu {

using StreamId = std::int64_t;

inline constexpr StreamId kDefaultStream = 0;
// Those of the pool have the numbers behind the default one's, and live as long as the process.
inline constexpr StreamId kPoolStreams = 32;

constexpr bool is_stream(StreamId id) { return id >= kDefaultStream && id <= kPoolStreams; }

// The calling thread's; the default one until another is set.
StreamId current_stream() noexcept;
// It must be a stream.
void set_current_stream(StreamId id) noexcept;

// The calling thread's current stream while it lives.
class StreamScope {
 public:
  explicit StreamScope(StreamId id) noexcept : before_(current_stream()) { set_current_stream(id); }
  ~StreamScope() { set_current_stream(before_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  const StreamId before_;
};

// The pool's streams in turn.
StreamId stream_from_pool() noexcept;

}  // namespace anymps::gpu
