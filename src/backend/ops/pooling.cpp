// max_pool2d: one operator with a gradient of its own on MPS, where the CPU keeps the indices of the maxima.
#include <ATen/ATen.h>
#include <ATen/TensorIterator.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "backend/dispatch/queued_function.h"
#include "backend/ops/registration.h"
#include "gpu/executor.h"

namespace anymps::backend::ops {
namespace {

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

struct Maximum {
  float value = -std::numeric_limits<float>::infinity();
  std::int64_t place;

  // Ties and NaN go as in the CPU's kernel: the first maximum stands, and the last NaN wins.
  void meet(float candidate, std::int64_t where) {
    if (candidate > value || std::isnan(candidate)) {
      value = candidate;
      place = where;
    }
  }
};

// Planes of floats under windows that slide over them.
struct Pooling {
  std::int64_t planes, in_height, in_width, out_height, out_width;
  Window vertical, horizontal;

  std::int64_t in_size() const { return in_height * in_width; }
  std::int64_t out_size() const { return out_height * out_width; }

  // Calls visit(window's index, maximum, its index) for every window. One pass that keeps no indices: the CPU's kernel
  // writes them and reads them again, which a device that must not keep them would do twice.
  template <typename Visit>
  void each_window(const float* input, Visit visit) const {
    const auto grain = static_cast<std::size_t>(std::max<std::int64_t>(1, at::internal::GRAIN_SIZE / in_size()));
    gpu::executor().parallel_for(static_cast<std::size_t>(planes), grain, [&](std::size_t begin, std::size_t end) {
      for (auto plane = static_cast<std::int64_t>(begin); plane < static_cast<std::int64_t>(end); ++plane) {
        for (std::int64_t oh = 0; oh < out_height; ++oh) each_in_row(input, plane, oh, visit);
      }
    });
  }

 private:
  template <typename Visit>
  void each_in_row(const float* input, std::int64_t plane, std::int64_t oh, Visit& visit) const {
    const std::int64_t top = vertical.first(oh);
    const std::int64_t bottom = vertical.end(oh, in_height);
    const std::int64_t above = plane * in_size();
    const std::int64_t row = plane * out_size() + oh * out_width;
    std::int64_t ow = 0;
    if (is_two_by_two() && bottom - top == 2) {
      // By far the most frequent window, without its loops.
      for (; ow < out_width && ow * horizontal.stride + 2 <= in_width; ++ow) {
        const std::int64_t corner = above + top * in_width + ow * horizontal.stride;
        Maximum best{.place = corner};
        best.meet(input[corner], corner);
        best.meet(input[corner + 1], corner + 1);
        best.meet(input[corner + in_width], corner + in_width);
        best.meet(input[corner + in_width + 1], corner + in_width + 1);
        visit(row + ow, best.value, best.place);
      }
    }
    for (; ow < out_width; ++ow) {
      const std::int64_t left = horizontal.first(ow);
      const std::int64_t right = horizontal.end(ow, in_width);
      Maximum best{.place = above + top * in_width + left};
      for (std::int64_t h = top; h < bottom; h += vertical.dilation) {
        for (std::int64_t w = left; w < right; w += horizontal.dilation) {
          const std::int64_t place = above + h * in_width + w;
          best.meet(input[place], place);
        }
      }
      visit(row + ow, best.value, best.place);
    }
  }

  bool is_two_by_two() const {
    return vertical.kernel == 2 && horizontal.kernel == 2 && vertical.padding == 0 && horizontal.padding == 0 &&
           vertical.dilation == 1 && horizontal.dilation == 1;
  }
};

bool is_plain_input(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat && x.is_contiguous() && x.dim() >= 3 && x.numel() > 0;
}

Pooling pooling_of(const at::Tensor& x, at::IntArrayRef out, at::IntArrayRef kernel, at::IntArrayRef stride,
                   at::IntArrayRef padding, at::IntArrayRef dilation) {
  return {.planes = x.numel() / (x.size(-1) * x.size(-2)),
          .in_height = x.size(-2),
          .in_width = x.size(-1),
          .out_height = out[out.size() - 2],
          .out_width = out[out.size() - 1],
          .vertical = Window::of(0, kernel, stride, padding, dilation),
          .horizontal = Window::of(1, kernel, stride, padding, dilation)};
}

at::Tensor maxima(const at::Tensor& x, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                  at::IntArrayRef dilation, bool ceil_mode) {
  if (!is_plain_input(x)) {
    return std::get<0>(at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
  }
  // The meta kernel checks the arguments and says the shape, and does no work.
  const auto shape = std::get<0>(at::max_pool2d_with_indices(at::empty_like(x, at::kMeta), kernel, stride, padding,
                                                             dilation, ceil_mode))
                         .sizes()
                         .vec();
  at::Tensor result = at::empty(shape, x.options());
  float* values = result.mutable_data_ptr<float>();
  pooling_of(x, shape, kernel, stride, padding, dilation)
      .each_window(x.const_data_ptr<float>(),
                   [values](std::int64_t window, float maximum, std::int64_t) { values[window] = maximum; });
  return result;
}

// Finds each window's maximum again and gives its gradient to it. The order of additions is the CPU's, so the result
// is the same to the bit.
at::Tensor gradient_of_maxima(const at::Tensor& grad, const at::Tensor& x, at::IntArrayRef kernel,
                              at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                              bool ceil_mode) {
  if (!is_plain_input(x)) {
    const auto indices = std::get<1>(at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
    return at::max_pool2d_with_indices_backward(grad, x, kernel, stride, padding, dilation, ceil_mode, indices);
  }
  const at::Tensor given = grad.contiguous();
  at::Tensor result = at::zeros_like(x);
  const float* gradients = given.const_data_ptr<float>();
  float* target = result.mutable_data_ptr<float>();
  pooling_of(x, given.sizes(), kernel, stride, padding, dilation)
      .each_window(x.const_data_ptr<float>(),
                   [=](std::int64_t window, float, std::int64_t place) { target[place] += gradients[window]; });
  return result;
}

at::Tensor max_pool2d(const at::Tensor& input, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                      at::IntArrayRef dilation, bool ceil_mode) {
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, maxima, input, kernel, stride, padding, dilation, ceil_mode);
}

at::Tensor max_pool2d_backward(const at::Tensor& grad, const at::Tensor& input, at::IntArrayRef kernel,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               bool ceil_mode) {
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, gradient_of_maxima, grad, input, kernel, stride, padding, dilation, ceil_mode);
}

}  // namespace

void register_pooling(torch::Library& m) {
  m.impl("max_pool2d", max_pool2d);
  m.impl("max_pool2d_backward", max_pool2d_backward);
}

}  // namespace anymps::backend::ops
