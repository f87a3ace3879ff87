// Events by number, with PyTorch's texts for what can be wrong with them.
#pragma once

#include "gpu/event.h"

namespace anymps::backend::runtime {

// Refuses a number that is not in use.
gpu::Event event_in_use(gpu::EventId id);

// The device reaches it when it has done what was encoded before.
void record_event(gpu::EventId id);

// Whether it has. A host may ask until it has.
bool is_reached(gpu::EventId id);

// Milliseconds between two recorded events, once the device is done; refuses events without timing, and the wrong
// order.
double milliseconds_between(gpu::EventId start, gpu::EventId end);

}  // namespace anymps::backend::runtime
