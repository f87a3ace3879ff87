// Convolution. A wheel built without MPS sends the device's convolutions to the operators made for overriding.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

#include "backend/cpu_call.h"
#include "backend/registration.h"

namespace anymps::backend {
namespace {

using SymInts = c10::SymIntArrayRef;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

void check_same_device(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(input.device() == weight.device(), "Input type (", input.toString(), ") and weight type (",
              weight.toString(), ") should be the same");
  TORCH_CHECK(!bias.defined() || bias.device() == input.device(), "Input type (", input.toString(), ") and bias type (",
              bias.toString(), ") should be the same");
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       SymInts stride, SymInts padding, SymInts dilation, bool transposed, SymInts output_padding,
                       c10::SymInt groups) {
  check_same_device(input, weight, bias.value_or(at::Tensor()));
  CpuCall cpu;
  return cpu.back(at::convolution_symint(cpu(input), cpu(weight), cpu(bias), stride, padding, dilation, transposed,
                                         output_padding, std::move(groups)));
}

ThreeTensors convolution_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                                  SymInts stride, SymInts padding, SymInts dilation, bool transposed,
                                  SymInts output_padding, c10::SymInt groups, std::array<bool, 3> wanted) {
  CpuCall cpu;
  const std::vector<c10::SymInt> bias_size{transposed ? weight.sym_size(1) * groups : weight.sym_size(0)};
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward_symint(
      cpu(grad), cpu(input), cpu(weight), c10::OptionalArrayRef<c10::SymInt>(bias_size), stride, padding, dilation,
      transposed, output_padding, groups, wanted);
  return {cpu.back(std::move(grad_input)), cpu.back(std::move(grad_weight)), cpu.back(std::move(grad_bias))};
}

}  // namespace

void register_convolution(torch::Library& m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
}

}  // namespace anymps::backend
