// Errors that the device finds while it works, which the host learns of when it next waits.
#pragma once

#include "gpu/device.h"

namespace anymps::backend::runtime {

// Keeps an error of the operator that is being called, with the user's line that calls it, for the next
// synchronisation. Throws it at once if ANYMPS_SYNC is 1.
void report_error(gpu::DeviceError error);

// As PyTorch throws it (c10::AcceleratorError); the line that was kept stands behind PyTorch's text.
[[noreturn]] void throw_error(gpu::DeviceError error);

// ANYMPS_SYNC=1: operators run when they are called, and their errors are thrown there.
bool is_synchronous();

}  // namespace anymps::backend::runtime
