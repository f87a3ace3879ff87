// The device's streams as PyTorch knows them. Before PyTorch 2.15 a program has the default stream alone.
#pragma once

#include <c10/core/Stream.h>

#include "gpu/stream.h"

namespace anymps::backend::runtime {

// Of the release in force.
bool has_stream_pool();

c10::Stream as_stream(gpu::StreamId id);

// The number itself. Throws PyTorch's error where there is no such stream.
gpu::StreamId known_stream(gpu::StreamId id);

}  // namespace anymps::backend::runtime
