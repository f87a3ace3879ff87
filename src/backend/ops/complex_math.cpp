// Functions that map the real axis to itself, at its far ends. The CPU's vectorised kernels multiply an infinity there
// by the sine of zero and get NaN for the imaginary part; Metal's kernels answer zero, as C's own functions do.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <memory>
#include <optional>

#include "backend/dispatch/alias_kernel.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

class RealAxisKernel final : public c10::OperatorKernel {
 public:
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::optional<at::Tensor> ends =
        far_ends((*stack)[stack->size() - op.schema().arguments().size()].toTensor());
    inner_(op, keys, stack);
    if (ends) at::imag(stack->back().toTensor()).masked_fill_(*ends, 0);
  }

 private:
  static std::optional<at::Tensor> far_ends(const at::Tensor& input) {
    if (!input.is_complex()) return std::nullopt;
    const at::Tensor plain = input.resolve_conj();
    return at::imag(plain).eq(0).logical_and_(at::isfinite(at::real(plain)).logical_not_());
  }

  dispatch::AliasKernel inner_{dispatch::AliasTarget::kCpuKernel, dispatch::DeviceCheck::kIterator};
};

}  // namespace

void register_complex_math(torch::Library& m) {
  for (const char* name : {"expm1", "expm1_", "expm1.out", "sinh", "sinh_", "sinh.out", "cosh", "cosh_", "cosh.out"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedKernel(
                     c10::BoxedKernel::makeFromFunctor(std::make_unique<RealAxisKernel>())));
  }
}

}  // namespace anymps::backend::ops
