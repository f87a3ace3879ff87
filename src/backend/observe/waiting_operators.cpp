#include "backend/observe/waiting_operators.h"

#include <ATen/core/Tensor.h>

namespace anymps::backend::observe {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

struct WaitingRow {
  std::string_view name;
  const char* what;
  bool if_masked = false;
};
constexpr WaitingRow kWaitingRows[] = {
    {"nonzero", "nonzero"},   {"masked_select", "masked_select"}, {"_unique2", "unique"},
    {"unique_dim", "unique"}, {"unique_consecutive", "unique"},   {"equal", "equal"},
    {"index", "mask", true},  {"_index_put_impl_", "mask", true},
};

bool is_mask(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_mps() &&
         (tensor.scalar_type() == c10::kBool || tensor.scalar_type() == c10::kByte);
}

bool has_mask(const c10::IValue& indices) {
  if (indices.isTensorList()) {
    for (const at::Tensor& index : indices.toTensorVector()) {
      if (is_mask(index)) return true;
    }
  } else if (indices.isList()) {
    for (const c10::IValue& index : indices.toListRef()) {
      if (index.isTensor() && is_mask(index.toTensor())) return true;
    }
  }
  return false;
}

// A number of the host's is filled in where the mask is set, which needs no count. One that Python writes as a number
// is put on the device first.
bool is_filled_in(Arguments arguments) {
  if (arguments.size() < 3 || !arguments[2].isTensor()) return false;
  const at::Tensor& value = arguments[2].toTensor();
  const bool accumulates = arguments.size() > 3 && arguments[3].isBool() && arguments[3].toBool();
  return value.defined() && value.is_cpu() && value.numel() == 1 && !accumulates;
}

}  // namespace

WaitingOperator::WaitingOperator(std::string_view name) {
  for (const WaitingRow& row : kWaitingRows) {
    if (row.name != name) continue;
    what_ = row.what;
    if_masked_ = row.if_masked;
  }
}

const char* WaitingOperator::wait_of(Arguments arguments) const {
  if (what_ == nullptr || !if_masked_) return what_;
  return arguments.size() > 1 && has_mask(arguments[1]) && !is_filled_in(arguments) ? what_ : nullptr;
}

}  // namespace anymps::backend::observe
