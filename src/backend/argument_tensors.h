// The tensors among an operator's arguments or results.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace anymps::backend {

// Calls `each` with every tensor, those of lists included, in their order; undefined ones too.
template <typename Values, typename Each>
void for_each_tensor(const Values& values, const Each& each) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) each(value.toTensor());
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) each(tensor);
  }
}

// The value where it is a tensor of the device, else null.
inline const at::Tensor* device_tensor(const c10::IValue& value) {
  if (!value.isTensor()) return nullptr;
  const at::Tensor& tensor = value.toTensor();
  return tensor.defined() && tensor.is_mps() ? &tensor : nullptr;
}

}  // namespace anymps::backend
