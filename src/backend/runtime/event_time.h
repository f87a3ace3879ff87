// Events by number, with PyTorch's texts for what can be wrong with them.
#pragma once

#include "gpu/event.h"

namespace anymps::backend::runtime {

// Refuses a number that is not in use.
gpu::Event event_in_use(gpu::EventId id);

// Milliseconds between two recorded events; refuses events without timing, and the wrong order.
double milliseconds_between(gpu::EventId start, gpu::EventId end);

}  // namespace anymps::backend::runtime
