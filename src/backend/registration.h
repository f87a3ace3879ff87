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
void register_profiler_track();
void register_aoti_runner();
void register_fallback(torch::Library& every_operator);
void register_permanent_fallbacks(torch::Library& aten);
// One operator: as those that PyTorch's MPS backend lacks, or as those that it sends to the CPU without being asked.
void register_missing(torch::Library& aten, const char* name);
void register_permanent_fallback(torch::Library& aten, const char* name);
// Last, since it takes the place of what is registered.
void register_other_release(torch::Library& aten);
void register_factories(torch::Library& aten);
void register_copy(torch::Library& aten);
void register_recurrent(torch::Library& aten);
void register_composite_recurrent(torch::Library& autograd);
void register_hot(torch::Library& aten);
void register_views(torch::Library& aten);
void register_linear(torch::Library& aten);
void register_pooling(torch::Library& aten);
void register_convolution(torch::Library& aten);
void register_attention(torch::Library& aten);
void register_composite_attention(torch::Library& autograd);
// These two at the device's key, and at its autograd key, or autograd would take the operator for one without a
// gradient.
void register_rms_norm(torch::Library& aten);
void register_svd(torch::Library& aten);
void register_distance(torch::Library& aten);
void register_bincount(torch::Library& aten);
void register_complex_math(torch::Library& aten);
void register_quantized(torch::Library& aten);
void register_random(torch::Library& aten);
void register_sampling(torch::Library& aten);
void register_deferred_errors(torch::Library& aten);

}  // namespace anymps::backend
