// bincount. The CPU counts weights of most types in float64, which the device does not have.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "backend/dispatch/cpu_call.h"
#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

at::Tensor bincount(const at::Tensor& self, const std::optional<at::Tensor>& weights, c10::SymInt min_length) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != at::kBool, "bincount is not supported for Bool");
  TORCH_CHECK(!weights || !weights->defined() || weights->is_mps(),
              "Placeholder storage has not been allocated on MPS device!");
  dispatch::CpuCall cpu;
  const at::Tensor counts = at::bincount_symint(cpu(self), cpu(weights), std::move(min_length));
  if (!weights || !weights->defined() || self.numel() == 0) return cpu.back(counts);
  const at::ScalarType given = weights->scalar_type();
  const bool kept = given == at::kFloat || given == at::kHalf;
  return cpu.back(counts.to(kept ? given : at::kInt));
}

}  // namespace

void register_bincount(torch::Library& m) { m.impl("bincount", bincount); }

}  // namespace anymps::backend::ops
