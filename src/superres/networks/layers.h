// What the networks are built of alike.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>
#include <memory>

#include "superres/networks/checkpointed.h"

namespace anymps::superres::networks {

inline constexpr std::int64_t kColours = 3;

// The result is as large as what it is given.
inline torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out, std::int64_t kernel = 3) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).padding(kernel / 2));
}

// A block's result, computed once, or with checkpointing again in the backward pass.
template <typename Block>
at::Tensor through(const std::shared_ptr<Block>& block, const at::Tensor& x, bool checkpointing) {
  if (!checkpointing) return block->forward(x);
  return checkpointed([block](const at::Tensor& y) { return block->forward(y); }, x);
}

}  // namespace anymps::superres::networks
