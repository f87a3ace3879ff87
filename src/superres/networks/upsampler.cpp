#include "superres/networks/upsampler.h"

#include <torch/nn/functional/vision.h>
#include <torch/nn/init.h>

#include <stdexcept>

namespace anymps::superres::networks {
namespace {

using torch::nn::Conv2dOptions;

// Where the pixels of one square of scale x scale lie, relative to its middle.
at::Tensor initial_positions(std::int64_t scale, std::int64_t groups) {
  const double half = static_cast<double>(scale - 1) / 2;
  const at::Tensor steps = at::arange(-half, half + 1, at::kFloat) / scale;
  const at::Tensor rows = steps.view({scale, 1}).expand({scale, scale});
  const at::Tensor columns = steps.view({1, scale}).expand({scale, scale});
  // x first, as grid_sample has it.
  return at::stack({columns, rows})
      .reshape({2, 1, scale * scale})
      .expand({2, groups, scale * scale})
      .reshape({1, 2 * groups * scale * scale, 1, 1})
      .contiguous();
}

at::Tensor sampled(const at::Tensor& features, const at::Tensor& grid) {
  namespace F = torch::nn::functional;
  return F::grid_sample(
      features, grid,
      F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kBorder).align_corners(false));
}

}  // namespace

Upsampler upsampler_from(const std::string& name) {
  for (const Upsampler upsampler : {Upsampler::kPixelShuffle, Upsampler::kDySample}) {
    if (name == name_of(upsampler)) return upsampler;
  }
  throw std::invalid_argument("`" + name + "` is neither pixelshuffle nor dysample");
}

const char* name_of(Upsampler upsampler) { return upsampler == Upsampler::kDySample ? "dysample" : "pixelshuffle"; }

DySampleImpl::DySampleImpl(std::int64_t channels, std::int64_t out_channels, std::int64_t scale, std::int64_t groups)
    : scale_(scale),
      groups_(groups),
      offset_(register_module("offset", torch::nn::Conv2d(Conv2dOptions(channels, 2 * groups * scale * scale, 1)))),
      scope_(register_module("scope",
                             torch::nn::Conv2d(Conv2dOptions(channels, 2 * groups * scale * scale, 1).bias(false)))),
      end_conv_(register_module("end_conv", torch::nn::Conv2d(Conv2dOptions(channels, out_channels, 1)))),
      init_pos_(register_buffer("init_pos", initial_positions(scale, groups))) {
  torch::nn::init::normal_(offset_->weight, 0, 0.02);
  torch::nn::init::zeros_(offset_->bias);
  torch::nn::init::zeros_(scope_->weight);
}

at::Tensor DySampleImpl::offsets(const at::Tensor& features) {
  return offset_->forward(features) * scope_->forward(features).sigmoid() * 0.5 + init_pos_;
}

at::Tensor DySampleImpl::forward(const at::Tensor& features) {
  return features.is_mps() ? forward_on_mps(features) : plain_forward(features);
}

at::Tensor DySampleImpl::forward_on_mps(const at::Tensor& features) {
  const std::int64_t batch = features.size(0);
  const std::int64_t height = features.size(2);
  const std::int64_t width = features.size(3);
  // Channels of the offsets: 2 coordinates, then groups, then places in the square.
  const std::int64_t of_each = groups_ * scale_ * scale_;
  const at::Tensor moved = offsets(features);
  const auto options = features.options();
  const at::Tensor x = moved.narrow(1, 0, of_each) + (at::arange(width, options) + 0.5).view({1, 1, 1, width});
  const at::Tensor y = moved.narrow(1, of_each, of_each) + (at::arange(height, options) + 0.5).view({1, 1, height, 1});
  const auto spread = [&](const at::Tensor& coordinates, std::int64_t size) {
    return at::pixel_shuffle(2 * coordinates / size - 1, scale_)
        .reshape({batch * groups_, scale_ * height, scale_ * width});
  };
  const at::Tensor grid = at::stack({spread(x, width), spread(y, height)}, -1);
  const at::Tensor output = sampled(features.reshape({batch * groups_, -1, height, width}), grid);
  return end_conv_->forward(output.reshape({batch, -1, scale_ * height, scale_ * width}));
}

at::Tensor DySampleImpl::plain_forward(const at::Tensor& features) {
  const std::int64_t batch = features.size(0);
  const std::int64_t height = features.size(2);
  const std::int64_t width = features.size(3);
  const auto options = features.options();
  const at::Tensor moved = offsets(features).view({batch, 2, -1, height, width});
  const std::vector<at::Tensor> mesh =
      at::meshgrid({at::arange(width, options) + 0.5, at::arange(height, options) + 0.5}, "ij");
  at::Tensor coordinates = at::stack(mesh).transpose(1, 2).unsqueeze(1).unsqueeze(0);
  const at::Tensor sizes = at::tensor({width, height}, options).view({1, 2, 1, 1, 1});
  coordinates = 2 * (coordinates + moved) / sizes - 1;
  coordinates = at::pixel_shuffle(coordinates.reshape({batch, -1, height, width}), scale_)
                    .view({batch, 2, -1, scale_ * height, scale_ * width})
                    .permute({0, 2, 3, 4, 1})
                    .contiguous()
                    .flatten(0, 1);
  const at::Tensor output = sampled(features.reshape({batch * groups_, -1, height, width}), coordinates);
  return end_conv_->forward(output.view({batch, -1, scale_ * height, scale_ * width}));
}

}  // namespace anymps::superres::networks
