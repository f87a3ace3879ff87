#include "backend/widening.h"

#include <ATen/ATen.h>

#include <optional>
#include <utility>
#include <vector>

namespace anymps::backend {
namespace {

using c10::ScalarType;

class WidenedCall {
 public:
  at::Tensor widen(const at::Tensor& tensor, bool written) {
    if (!tensor.defined() || tensor.layout() != at::kStrided) return tensor;
    const ScalarType narrow = tensor.scalar_type();
    const ScalarType wide = wider(narrow);
    if (wide == narrow) return tensor;
    // Double results of a widened call would otherwise look like a request for double.
    narrow_ = narrow;
    at::Tensor result = tensor.to(wide);
    if (written) written_.emplace_back(tensor, result);
    return result;
  }

  void widen_dtype(c10::IValue& value) {
    const auto narrow = static_cast<ScalarType>(value.toInt());
    const ScalarType wide = wider(narrow);
    if (wide == narrow) return;
    narrow_ = narrow;
    value = static_cast<std::int64_t>(wide);
  }

  at::Tensor narrow(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    for (auto& [original, wide] : written_) {
      if (wide.is_same(tensor)) return original;
    }
    if (narrow_ && tensor.layout() == at::kStrided && tensor.scalar_type() == wider(*narrow_)) return tensor.to(*narrow_);
    return tensor;
  }

  void write_back() {
    for (auto& [original, wide] : written_) {
      if (original.sizes() != wide.sizes()) original.resize_(wide.sizes());
      original.copy_(wide);
    }
  }

 private:
  std::optional<ScalarType> narrow_;
  std::vector<std::pair<at::Tensor, at::Tensor>> written_;
};

}  // namespace

ScalarType wider(ScalarType dtype) {
  switch (dtype) {
    case c10::kHalf:
    case c10::kBFloat16:
      return c10::kFloat;
    case c10::kComplexHalf:
      return c10::kComplexFloat;
    case c10::kBool:
      return c10::kByte;
    case c10::kByte:
    case c10::kChar:
    case c10::kShort:
    case c10::kUInt16:
    case c10::kUInt32:
      return c10::kLong;
    default:
      return dtype;
  }
}

void call_widened(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::size_t begin = stack->size() - schema.arguments().size();
  WidenedCall call;
  for (std::size_t i = 0; i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    c10::IValue& value = (*stack)[begin + i];
    if (value.isTensor()) {
      value = call.widen(value.toTensor(), written);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> wide;
      for (const at::Tensor& tensor : value.toTensorVector()) wide.push_back(call.widen(tensor, written));
      value = std::move(wide);
    } else if (value.isInt() && argument.name() == "dtype") {
      call.widen_dtype(value);
    }
  }
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  call.write_back();
  const std::size_t first_result = stack->size() - schema.returns().size();
  for (std::size_t i = first_result; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensor()) {
      value = call.narrow(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> narrow;
      for (const at::Tensor& tensor : value.toTensorVector()) narrow.push_back(call.narrow(tensor));
      value = std::move(narrow);
    }
  }
}

}  // namespace anymps::backend
