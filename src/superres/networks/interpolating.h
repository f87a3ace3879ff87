// First weights with which a network enlarges as interpolation does, so that training begins there.
#pragma once

#include <torch/nn/modules/conv.h>

#include <cstdint>

namespace anymps::superres::networks {

// The colours go through it as its first three channels; what else came to these is made small.
void pass_colours(torch::nn::Conv2d& convolution);

// Each of its three channels is the mean of as many following each other, of which the colours were repeated.
void average_colours(torch::nn::Conv2d& convolution);

// Before a pixel shuffle by `factor`: the first three channels behind it are the first three before it, bilinearly
// enlarged. Where `beside_nearest`, only what that differs by from repeating each pixel.
void interpolate_colours(torch::nn::Conv2d& convolution, std::int64_t factor, bool beside_nearest = false);

}  // namespace anymps::superres::networks
