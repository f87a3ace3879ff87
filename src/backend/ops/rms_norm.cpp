// rms_norm. PyTorch's own front end asks at compile time whether it is for MPS, and a wheel built without goes to an
// operator whose gradient MPS does not have; so the front end for the device stands here.
#include <ATen/ATen.h>
#include <ATen/native/layer_norm.h>
#include <ATen/ops/_fused_rms_norm_compositeimplicitautograd_dispatch.h>
#include <torch/library.h>

#include <vector>

#include "backend/ops/registration.h"

namespace anymps::backend::ops {
namespace {

bool is_channels_last(const at::Tensor& tensor) {
  const at::MemoryFormat format = tensor.suggest_memory_format();
  return format == at::MemoryFormat::ChannelsLast || format == at::MemoryFormat::ChannelsLast3d;
}

at::Tensor rms_norm(const at::Tensor& input, c10::SymIntArrayRef normalized_shape,
                    const std::optional<at::Tensor>& weight, std::optional<double> epsilon) {
  const at::Tensor scale = weight.value_or(at::Tensor());
  at::native::_check_rms_norm_inputs_symint(input, normalized_shape, scale);
  // Sizes may be symbols of a compiler. The composition asks only how many they are, so that it can do without.
  const auto concrete = c10::asIntArrayRefSlowOpt(normalized_shape);
  const std::vector<std::int64_t> shape =
      concrete ? concrete->vec() : std::vector<std::int64_t>(normalized_shape.size(), -1);
  const bool wants_gradient =
      at::GradMode::is_enabled() && (input.requires_grad() || (scale.defined() && scale.requires_grad()));
  const bool fused = concrete && scale.defined() && !wants_gradient && !is_channels_last(input) &&
                     !input.is_complex() && scale.dtype() == input.dtype();
  if (fused) return std::get<0>(at::_fused_rms_norm(input.contiguous(), shape, weight, epsilon));
  return std::get<0>(at::compositeimplicitautograd::_fused_rms_norm(input, shape, weight, epsilon));
}

}  // namespace

void register_rms_norm(torch::Library& m) { m.impl("rms_norm", rms_norm); }

}  // namespace anymps::backend::ops
