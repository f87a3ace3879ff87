// ldexp, as PyTorch makes it of other operators where a device has no kernel of its own for it. Its own code asks a
// table of kernels that a build for Linux has no row of the device in, and ends there.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

at::Tensor power_of_two(const at::Tensor& self, const at::Tensor& exponent) {
  const at::ScalarType dtype = self.scalar_type();
  if (at::isIntegralType(dtype, /*includeBool=*/true) || dtype == at::kFloat) return at::pow(2.0, exponent);
  return at::full({}, 2.0, self.options()).pow(exponent);
}

at::Tensor ldexp(const at::Tensor& self, const at::Tensor& exponent) {
  return at::mul(self, power_of_two(self, exponent));
}

at::Tensor& ldexp_into(const at::Tensor& self, const at::Tensor& exponent, at::Tensor& result) {
  TORCH_CHECK(!at::isIntegralType(result.scalar_type(), /*includeBool=*/true),
              "ldexp can't be cast to the desired output type ", result.scalar_type());
  return at::mul_out(result, self, power_of_two(self, exponent));
}

at::Tensor& ldexp_in_place(at::Tensor& self, const at::Tensor& exponent) { return ldexp_into(self, exponent, self); }

}  // namespace

void register_ldexp(torch::Library& m) {
  m.impl("ldexp.Tensor", ldexp);
  m.impl("ldexp.out", ldexp_into);
  m.impl("ldexp_", ldexp_in_place);
}

}  // namespace anymps::backend::ops
