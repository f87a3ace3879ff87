// The last part of a network: from features at low resolution to pixels at high resolution.
#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <string>

namespace anymps::superres::networks {

enum class Upsampler { kPixelShuffle, kDySample };

// "pixelshuffle", "dysample". Throws std::invalid_argument for anything else.
Upsampler upsampler_from(const std::string& name);
const char* name_of(Upsampler upsampler);

// DySample (Liu et al., ICCV 2023): each output pixel is taken from where a learned offset points. In groups of
// channels, with a 1x1 convolution at the end. Weights are named as in the loaders that people share models by: offset,
// scope, end_conv, init_pos.
//
// On mps the forward stays on the device and uses only what MPS has: the grid's coordinates are made by broadcasting,
// instead of a meshgrid of five dimensions, and no tensor has more than four. It gives what the plain one gives.
class DySampleImpl : public torch::nn::Module {
 public:
  DySampleImpl(std::int64_t channels, std::int64_t out_channels, std::int64_t scale, std::int64_t groups);

  at::Tensor forward(const at::Tensor& features);
  // What it ends with: a convolution of 1 x 1 at high resolution.
  torch::nn::Conv2d& last() { return end_conv_; }

 private:
  at::Tensor forward_on_mps(const at::Tensor& features);
  // As the paper writes it down.
  at::Tensor plain_forward(const at::Tensor& features);
  at::Tensor offsets(const at::Tensor& features);

  std::int64_t scale_;
  std::int64_t groups_;
  torch::nn::Conv2d offset_;
  torch::nn::Conv2d scope_;
  torch::nn::Conv2d end_conv_;
  at::Tensor init_pos_;
};
TORCH_MODULE(DySample);

}  // namespace anymps::superres::networks
