// linear: one operator on MPS, where the CPU composes it of others.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <array>
#include <tuple>
#include <vector>

#include "backend/dispatch/queued_function.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

bool is_supported(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
}

void check_on_device(const at::Tensor& tensor, const char* name) {
  TORCH_CHECK(tensor.is_mps(), "Tensor for argument ", name, " is on ", tensor.device(), " but expected on mps");
}

// The CPU's own composition folds the leading dimensions where the weight learns, which below autograd it cannot see.
bool folds(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  if (input.dim() < 3 || weight.dim() != 2 || !weight.requires_grad()) return false;
  const bool has_bias = bias && bias->defined();
  return !(has_bias && input.dim() == 3 && input.is_contiguous());  // that one it folds by itself, bias included
}

// Not by reshape, which cannot tell how many rows there are where a row is empty.
at::Tensor as_rows(const at::Tensor& tensor) { return tensor.dim() == 1 ? tensor.unsqueeze(0) : tensor.flatten(0, -2); }

at::Tensor linear_on_cpu(const at::Tensor& x, const at::Tensor& w, const std::optional<at::Tensor>& b, bool folded) {
  if (!folded) return at::linear(x, w, b);
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = w.size(0);
  at::Tensor result = as_rows(x).mm(w.t()).view(shape);
  return b ? result.add_(*b) : result;
}

at::Tensor linear(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias) {
  TORCH_CHECK(is_supported(input), "MPS device does not support linear for non-float inputs");
  check_on_device(input, "input");
  TORCH_CHECK(is_supported(weight), "MPS device does not support linear for non-float weights");
  check_on_device(weight, "weight");
  if (bias && bias->defined()) {
    check_on_device(*bias, "bias");
    TORCH_CHECK(is_supported(*bias), "MPS device does not support linear for non-float bias");
  }
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, linear_on_cpu, input, weight, bias, folds(input, weight, bias));
}

using ThreeGradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

// The products that PyTorch's formulas for the CPU's composition take, so that gradients are the CPU's to the bit.
ThreeGradients linear_gradients_on_cpu(const at::Tensor& x, const at::Tensor& g, const at::Tensor& w,
                                       std::array<bool, 3> wanted) {
  const at::Tensor rows = as_rows(w.dim() == 1 ? g.unsqueeze(-1) : g);
  const at::Tensor matrix = w.dim() == 1 ? w.unsqueeze(0) : w;
  at::Tensor grad_input;
  at::Tensor grad_weight;
  at::Tensor grad_bias;
  if (wanted[0]) grad_input = rows.mm(matrix.conj()).view(x.sizes());
  if (wanted[1]) {
    grad_weight = rows.t().mm(as_rows(x).conj()).view(w.sizes());
  }
  if (wanted[2]) grad_bias = rows.sum(0).view(w.dim() == 1 ? at::IntArrayRef{} : at::IntArrayRef{w.size(0)});
  return {grad_input, grad_weight, grad_bias};
}

ThreeGradients linear_backward(const at::Tensor& input, const at::Tensor& grad, const at::Tensor& weight,
                               std::array<bool, 3> wanted) {
  static auto& known = dispatch::KnownResults::kept_for_good();
  return dispatch::on_cpu_tensors(known, linear_gradients_on_cpu, input, grad, weight, wanted);
}

}  // namespace

void register_linear(torch::Library& m) {
  m.impl("linear", linear);
  m.impl("linear_backward", linear_backward);
}

}  // namespace anymps::backend::ops
