// Convolution. A wheel built without MPS sends the device's convolutions to the operators made for overriding. Traces
// show them by the names that they have on a Mac.
#include <ATen/ATen.h>
#include <ATen/native/ConvUtils.h>
#include <c10/util/strides.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

#include "backend/dispatch/queued_function.h"
#include "backend/observe/details.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

using SymInts = c10::SymIntArrayRef;
using ThreeTensors = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

void check_same_type(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(input.options().type_equal(weight.options()), "Input type (", input.toString(), ") and weight type (",
              weight.toString(), ") should be the same");
  TORCH_CHECK(!bias.defined() || input.options().type_equal(bias.options()), "Input type (", input.toString(),
              ") and bias type (", bias.toString(), ") should be the same");
}

void check_convolution_supported(const at::Tensor& input, bool transposed) {
  const at::ScalarType dtype = input.scalar_type();
  TORCH_CHECK(!transposed || input.dim() != 5 || (dtype != at::kHalf && dtype != at::kBFloat16),
              "ConvTranspose 3D with BF16 or FP16 types is not supported on MPS");
  TORCH_CHECK(at::isFloatingType(dtype), "Convolution is supported only for Floating types");
}

// How a Mac lays out what it computes, which the CPU's algorithms do not always follow. Compiled graphs are made for
// it.
at::MemoryFormat layout_of_results(const at::Tensor& input, const at::Tensor& weight) {
  if (!at::native::mps_conv_use_channels_last(input, weight)) return at::MemoryFormat::Contiguous;
  return input.dim() == 5 ? at::MemoryFormat::ChannelsLast3d : at::MemoryFormat::ChannelsLast;
}

// A Mac sums in float. The CPU's kernels sum halves in half on some processors (one in ten wrong in the first digit,
// over 4,608 terms), and have a slow loop for bfloat16 on others.
at::Tensor widened(const at::Tensor& tensor) {
  const bool narrow = tensor.defined() && (tensor.scalar_type() == at::kHalf || tensor.scalar_type() == at::kBFloat16);
  return narrow ? tensor.to(at::kFloat) : tensor;
}

// The CPU's algorithms for channels_last sum in another order than those for contiguous tensors; a Mac's do not. A
// compiled graph, which chooses layouts of its own, must find the numbers that eager mode finds.
at::Tensor for_the_sum(const at::Tensor& tensor) {
  const at::Tensor dense = widened(tensor).contiguous();
  // Where a side is 1, other strides are contiguous, too, and are taken for channels_last.
  return dense.as_strided(dense.sizes(), c10::contiguous_strides(dense.sizes()));
}

at::Tensor convolution_on_cpu(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                              SymInts stride, SymInts padding, SymInts dilation, bool transposed,
                              SymInts output_padding, const c10::SymInt& groups, at::MemoryFormat layout) {
  const at::Tensor result =
      at::convolution_symint(for_the_sum(input), for_the_sum(weight), widened(bias.value_or(at::Tensor())), stride,
                             padding, dilation, transposed, output_padding, groups);
  return result.to(input.scalar_type()).contiguous(layout);
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       SymInts stride, SymInts padding, SymInts dilation, bool transposed, SymInts output_padding,
                       c10::SymInt groups) {
  check_same_type(input, weight, bias.value_or(at::Tensor()));
  check_convolution_supported(input, transposed);
  observe::name_call(transposed ? "aten::_mps_convolution_transpose" : "aten::_mps_convolution");
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, convolution_on_cpu, input, weight, bias, stride, padding, dilation, transposed,
                                  output_padding, groups, layout_of_results(input, weight));
}

ThreeTensors convolution_gradients_on_cpu(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                                          SymInts stride, SymInts padding, SymInts dilation, bool transposed,
                                          SymInts output_padding, const c10::SymInt& groups, std::array<bool, 3> wanted,
                                          at::MemoryFormat layout) {
  const std::vector<c10::SymInt> bias_size{transposed ? weight.sym_size(1) * groups : weight.sym_size(0)};
  auto [grad_input, grad_weight, grad_bias] = at::convolution_backward_symint(
      for_the_sum(grad), for_the_sum(input), for_the_sum(weight), c10::OptionalArrayRef<c10::SymInt>(bias_size), stride,
      padding, dilation, transposed, output_padding, groups, wanted);
  auto laid_out = [&](const at::Tensor& gradient, at::MemoryFormat as) {
    return gradient.defined() ? gradient.to(input.scalar_type()).contiguous(as) : gradient;
  };
  return {laid_out(grad_input, layout), laid_out(grad_weight, layout),
          laid_out(grad_bias, at::MemoryFormat::Contiguous)};
}

ThreeTensors convolution_backward(const at::Tensor& grad, const at::Tensor& input, const at::Tensor& weight,
                                  SymInts stride, SymInts padding, SymInts dilation, bool transposed,
                                  SymInts output_padding, c10::SymInt groups, std::array<bool, 3> wanted) {
  observe::name_call(transposed ? "aten::mps_convolution_transpose_backward" : "aten::mps_convolution_backward");
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, convolution_gradients_on_cpu, grad, input, weight, stride, padding, dilation,
                                  transposed, output_padding, groups, wanted, layout_of_results(input, weight));
}

// Where an input of the CPU meets a weight of the device, PyTorch comes here.
at::Tensor slow_conv2d_forward(const at::Tensor& input, const at::Tensor& weight, SymInts,
                               const std::optional<at::Tensor>&, SymInts, SymInts) {
  TORCH_CHECK(input.device() == weight.device(), "slow_conv2d_forward_mps: input(device='", input.device(),
              "') and weight(device=", weight.device(), "')  must be on the same device");
  TORCH_INTERNAL_ASSERT(false, "slow_conv2d_forward_mps should not be called for both tensors on MPS device");
}

}  // namespace

void register_convolution(torch::Library& m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
  m.impl("_slow_conv2d_forward", slow_conv2d_forward);
}

}  // namespace anymps::backend::ops
