// max_pool2d: one operator with a gradient of its own on MPS, where the CPU keeps the indices of the maxima.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu_call.h"
#include "backend/registration.h"

namespace anymps::backend {
namespace {

at::Tensor max_pool2d(const at::Tensor& input, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                      at::IntArrayRef dilation, bool ceil_mode) {
  CpuCall cpu;
  return cpu.back(std::get<0>(at::max_pool2d_with_indices(cpu(input), kernel, stride, padding, dilation, ceil_mode)));
}

struct Window {
  std::int64_t kernel, stride, padding, dilation;

  // PyTorch lets one number stand for both axes, and no stride for the kernel's size.
  static Window of(std::size_t axis, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                   at::IntArrayRef dilation) {
    auto pick = [axis](at::IntArrayRef values) { return values.size() == 1 ? values[0] : values[axis]; };
    return {pick(kernel), pick(stride.empty() ? kernel : stride), pick(padding), pick(dilation)};
  }

  // The first place of the window at `output` that lies in the input.
  std::int64_t first(std::int64_t output) const {
    std::int64_t place = output * stride - padding;
    while (place < 0) place += dilation;
    return place;
  }
  std::int64_t end(std::int64_t output, std::int64_t size) const {
    return std::min(output * stride - padding + (kernel - 1) * dilation + 1, size);
  }
};

// Finds each window's maximum again and gives its gradient to it, in one pass. The CPU keeps the indices instead; with
// the CPU's two kernels in a row the search alone made a small CNN's step 8% slower. Ties, NaN and the order of
// additions are as there, so the result is the same to the bit.
void scatter_to_maxima(const float* input, const float* grad, float* result, std::int64_t planes, at::IntArrayRef in,
                       at::IntArrayRef out, const Window& vertical, const Window& horizontal) {
  const std::int64_t in_size = in[0] * in[1];
  const std::int64_t out_size = out[0] * out[1];
  const std::int64_t grain = std::max<std::int64_t>(1, at::internal::GRAIN_SIZE / std::max<std::int64_t>(in_size, 1));
  at::parallel_for(0, planes, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t plane = begin; plane < end; ++plane) {
      const float* values = input + plane * in_size;
      float* target = result + plane * in_size;
      const float* given = grad + plane * out_size;
      for (std::int64_t oh = 0; oh < out[0]; ++oh) {
        for (std::int64_t ow = 0; ow < out[1]; ++ow) {
          const std::int64_t left = horizontal.first(ow);
          const std::int64_t top = vertical.first(oh);
          std::int64_t best = top * in[1] + left;
          float maximum = -std::numeric_limits<float>::infinity();
          for (std::int64_t h = top; h < vertical.end(oh, in[0]); h += vertical.dilation) {
            for (std::int64_t w = left; w < horizontal.end(ow, in[1]); w += horizontal.dilation) {
              const float value = values[h * in[1] + w];
              if (value > maximum || std::isnan(value)) {
                maximum = value;
                best = h * in[1] + w;
              }
            }
          }
          target[best] += given[oh * out[1] + ow];
        }
      }
    }
  });
}

at::Tensor max_pool2d_backward(const at::Tensor& grad, const at::Tensor& input, at::IntArrayRef kernel,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               bool ceil_mode) {
  CpuCall cpu;
  const at::Tensor x = cpu(input);
  const bool one_pass = (x.scalar_type() == at::kFloat) && x.is_contiguous() && x.dim() >= 3 && x.numel() > 0;
  if (one_pass) {
    const at::Tensor given = cpu(grad).contiguous();
    at::Tensor result = at::zeros_like(x);
    scatter_to_maxima(x.const_data_ptr<float>(), given.const_data_ptr<float>(), result.mutable_data_ptr<float>(),
                      x.numel() / (x.size(-1) * x.size(-2)), x.sizes().slice(x.dim() - 2),
                      given.sizes().slice(given.dim() - 2), Window::of(0, kernel, stride, padding, dilation),
                      Window::of(1, kernel, stride, padding, dilation));
    return cpu.back(std::move(result));
  }
  const auto indices = std::get<1>(at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
  return cpu.back(
      at::max_pool2d_with_indices_backward(cpu(grad), x, kernel, stride, padding, dilation, ceil_mode, indices));
}

}  // namespace

void register_pooling(torch::Library& m) {
  m.impl("max_pool2d", max_pool2d);
  m.impl("max_pool2d_backward", max_pool2d_backward);
}

}  // namespace anymps::backend
