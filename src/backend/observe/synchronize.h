// Points where the host waits for the device.
#pragma once

namespace anymps::backend::observe {

// Notes the wait under `what` (waits.h), and throws what kernels left behind (AcceleratorError).
void synchronize(const char* what);

}  // namespace anymps::backend::observe
