#include "superres/networks/interpolating.h"

#include <ATen/ATen.h>

#include <cmath>

#include "superres/networks/layers.h"

namespace anymps::superres::networks {
namespace {

// Of the weights that chance gave.
constexpr double kChanceShare = 0.1;

// Three weights for the place `phase` of `factor` within a pixel.
at::Tensor taps(std::int64_t phase, std::int64_t factor) {
  const double away = (static_cast<double>(phase) + 0.5) / static_cast<double>(factor) - 0.5;
  return at::tensor({std::max(0.0, -away), 1 - std::abs(away), std::max(0.0, away)}, at::kFloat);
}

// The middle of a kernel as large as the convolution's is 1.
at::Tensor middle_of(const torch::nn::Conv2d& convolution) {
  at::Tensor kernel = at::zeros_like(convolution->weight[0][0]);
  kernel[kernel.size(0) / 2][kernel.size(1) / 2] = 1;
  return kernel;
}

}  // namespace

void pass_colours(torch::nn::Conv2d& convolution) {
  const at::NoGradGuard constant;
  const at::Tensor middle = middle_of(convolution);
  for (std::int64_t colour = 0; colour < kColours; ++colour) {
    convolution->weight[colour] *= kChanceShare;
    convolution->weight[colour][colour] += middle;
    convolution->bias[colour] = 0;
  }
}

void average_colours(torch::nn::Conv2d& convolution) {
  const at::NoGradGuard constant;
  const std::int64_t each = convolution->weight.size(1) / kColours;
  convolution->weight.mul_(kChanceShare);
  convolution->bias.zero_();
  for (std::int64_t colour = 0; colour < kColours; ++colour) {
    convolution->weight[colour].narrow(0, colour * each, each) += 1.0 / static_cast<double>(each);
  }
}

void interpolate_colours(torch::nn::Conv2d& convolution, std::int64_t factor, bool beside_nearest) {
  const at::NoGradGuard constant;
  const at::Tensor nearest = middle_of(convolution);
  for (std::int64_t i = 0; i < kColours * factor * factor; ++i) {
    const at::Tensor rows = taps(i / factor % factor, factor);
    const at::Tensor columns = taps(i % factor, factor);
    at::Tensor kernel = rows.unsqueeze(1) * columns.unsqueeze(0);
    if (beside_nearest) kernel = kernel - nearest;
    convolution->weight[i] *= kChanceShare;
    convolution->weight[i][i / (factor * factor)] += kernel;
    convolution->bias[i] = 0;
  }
}

}  // namespace anymps::superres::networks
