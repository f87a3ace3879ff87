// Gradient checkpointing: what a block computes is not kept for the backward pass, but computed again in it.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace anymps::superres::networks {

// `block` is called once now and once in the backward pass, and must do the same both times. Gradients of its own
// parameters are accumulated as always.
at::Tensor checkpointed(const std::function<at::Tensor(const at::Tensor&)>& block, const at::Tensor& input);

}  // namespace anymps::superres::networks
