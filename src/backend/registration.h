// The whole device, registered with PyTorch.
#pragma once

#include <torch/library.h>

namespace anymps::backend {

// Loading the library calls it; calling it again does nothing.
void register_device();

// The parts, one per file that has kernels or services to register.
void register_executor();
void register_hooks();
void register_guard();

}  // namespace anymps::backend
