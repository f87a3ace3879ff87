// max_pool2d: one operator with a gradient of its own on MPS, where the CPU keeps the indices of the maxima.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend/cpu_call.h"
#include "backend/registration.h"

namespace anymps::backend {
namespace {

at::Tensor max_pool2d(const at::Tensor& input, at::IntArrayRef kernel, at::IntArrayRef stride, at::IntArrayRef padding,
                      at::IntArrayRef dilation, bool ceil_mode) {
  CpuCall cpu;
  return cpu.back(std::get<0>(at::max_pool2d_with_indices(cpu(input), kernel, stride, padding, dilation, ceil_mode)));
}

at::Tensor max_pool2d_backward(const at::Tensor& grad, const at::Tensor& input, at::IntArrayRef kernel,
                               at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                               bool ceil_mode) {
  CpuCall cpu;
  const at::Tensor x = cpu(input);
  const auto indices = std::get<1>(at::max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
  return cpu.back(at::max_pool2d_with_indices_backward(cpu(grad), x, kernel, stride, padding, dilation, ceil_mode, indices));
}

}  // namespace

void register_pooling(torch::Library& m) {
  m.impl("max_pool2d", max_pool2d);
  m.impl("max_pool2d_backward", max_pool2d_backward);
}

}  // namespace anymps::backend
