#include "gpu/stream.h"

#include <atomic>

namespace anymps::gpu {
namespace {

thread_local StreamId current = kDefaultStream;
std::atomic<std::uint32_t> handed_out{0};

}  // namespace

StreamId current_stream() noexcept { return current; }

void set_current_stream(StreamId id) noexcept { current = id; }

StreamId stream_from_pool() noexcept {
  return handed_out.fetch_add(1, std::memory_order_relaxed) % static_cast<std::uint32_t>(kPoolStreams) + 1;
}

}  // namespace anymps::gpu
