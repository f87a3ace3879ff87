// What the operators written for the device register, one function a file.
#pragma once

#include <torch/library.h>

namespace anymps::backend::ops {

void register_factories(torch::Library& aten);
void register_copy(torch::Library& aten);
void register_recurrent(torch::Library& aten);
void register_composite_recurrent(torch::Library& autograd);
void register_views(torch::Library& aten);
void register_linear(torch::Library& aten);
void register_pooling(torch::Library& aten);
void register_convolution(torch::Library& aten);
void register_attention(torch::Library& aten);
void register_composite_attention(torch::Library& autograd);
// At the device's key, and at its autograd key, or autograd would take the operator for one without a gradient.
void register_rms_norm(torch::Library& aten);
void register_distance(torch::Library& aten);
void register_bincount(torch::Library& aten);
void register_ldexp(torch::Library& aten);
void register_complex_math(torch::Library& aten);
void register_quantized(torch::Library& aten);
void register_random(torch::Library& aten);
void register_sampling(torch::Library& aten);
void register_deferred_errors(torch::Library& aten);
void register_record_stream(torch::Library& aten);

}  // namespace anymps::backend::ops
