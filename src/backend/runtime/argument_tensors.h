// The tensors among an operator's arguments or results.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <optional>

namespace anymps::backend::runtime {

using OptionalTensors = c10::List<std::optional<at::Tensor>>;

// Nothing where it is another value. The list that TorchScript's interpreter makes for `Tensor?[]` has a type of its
// own, equal to the one that IValue::isOptionalTensorList() takes and not the same object.
inline std::optional<OptionalTensors> optional_tensors(const c10::IValue& value) {
  if (value.isOptionalTensorList()) return value.toOptionalTensorList();
  if (!value.isList()) return std::nullopt;
  const c10::TypePtr type = value.toList().elementType();
  if (type->kind() != c10::TypeKind::OptionalType || type->containedType(0)->kind() != c10::TypeKind::TensorType) {
    return std::nullopt;
  }
  OptionalTensors tensors;
  for (const c10::IValue& element : value.toListRef()) {
    tensors.push_back(element.isNone() ? std::nullopt : std::optional<at::Tensor>(element.toTensor()));
  }
  return tensors;
}

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

}  // namespace anymps::backend::runtime
