// The whole device, registered with PyTorch.
#pragma once

#include <torch/library.h>

namespace anymps::backend {

// Loading the library calls it; calling it again does nothing.
void register_device();

// The parts, one per file that has kernels or services to register.
void register_hooks();
void register_guard();
void register_fallback(torch::Library& every_operator);
void register_permanent_fallbacks(torch::Library& aten);
void register_factories(torch::Library& aten);
void register_copy(torch::Library& aten);

}  // namespace anymps::backend
