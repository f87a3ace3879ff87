// The gradient of cdist. It compares distances with the forward result, so a result that was rounded to half is of no
// use to it: distances are computed again, in the type of the gradient's own arithmetic.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend/dispatch/cpu_call.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

at::Tensor cdist_backward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2, double p,
                          const at::Tensor& distances) {
  dispatch::CpuCall cpu;
  const at::ScalarType narrow = x1.scalar_type();
  if (narrow != at::kHalf && narrow != at::kBFloat16) {
    return cpu.back(at::_cdist_backward(cpu(grad), cpu(x1), cpu(x2), p, cpu(distances)));
  }
  const at::Tensor a = cpu(x1).to(at::kFloat);
  const at::Tensor b = cpu(x2).to(at::kFloat);
  const at::Tensor exact = at::_cdist_forward(a, b, p, std::nullopt);
  return cpu.back(at::_cdist_backward(cpu(grad).to(at::kFloat).contiguous(), a, b, p, exact).to(narrow));
}

}  // namespace

void register_distance(torch::Library& m) { m.impl("_cdist_backward", cdist_backward); }

}  // namespace anymps::backend::ops
