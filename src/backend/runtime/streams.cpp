#include "backend/runtime/streams.h"

#include <c10/util/Exception.h>

#include "backend/release/release_in_force.h"
#include "backend/runtime/memory.h"

namespace anymps::backend::runtime {

bool has_stream_pool() {
  static const bool has = release::in_force_since(2, 15);
  return has;
}

c10::Stream as_stream(gpu::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, kMpsDevice, id); }

gpu::StreamId known_stream(gpu::StreamId id) {
  TORCH_CHECK(gpu::is_stream(id), "stream_id=", id, " not found");
  return id;
}

}  // namespace anymps::backend::runtime
