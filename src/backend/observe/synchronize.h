// Points where the host waits for the device.
#pragma once

#include "gpu/stream.h"

namespace anymps::backend::observe {

// Waits for all streams, or for one. Notes the wait under `what` (waits.h), and throws what kernels left behind
// (AcceleratorError).
void synchronize(const char* what);
void synchronize(const char* what, gpu::StreamId stream);

}  // namespace anymps::backend::observe
