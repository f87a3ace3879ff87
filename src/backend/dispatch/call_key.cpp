#include "backend/dispatch/call_key.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/runtime/argument_tensors.h"
#include "backend/runtime/memory.h"

namespace anymps::backend::dispatch {
namespace {

constexpr double kFitsEveryType = 32768;

bool is_number_type(const c10::Type& type) {
  if (type.kind() == c10::TypeKind::NumberType) return true;
  return type.kind() == c10::TypeKind::OptionalType &&
         type.expectRef<c10::OptionalType>().getElementType()->kind() == c10::TypeKind::NumberType;
}

// The device's own memory, by the pointer that its owner frees it with: what a command can hold.
bool is_in_a_block(const c10::TensorImpl& impl) {
  const c10::Storage& storage = impl.unsafe_storage();
  if (!storage) return false;
  const c10::DataPtr& data = storage.data_ptr();
  return data.get() == nullptr || (data.get_context() == data.get() && runtime::in_heap(data.get()));
}

// As an index: how many elements it selects is written in its values.
bool is_mask(const at::Tensor& index) {
  return index.defined() && (index.scalar_type() == at::kBool || index.scalar_type() == at::kByte);
}

// What the CPU's kernels refuse.
bool overlaps_in_part(const at::Tensor& written, const at::Tensor& other) {
  if (!other.defined() || !other.is_mps() || other.is_same(written)) return false;
  return at::get_overlap_status(written, other) == at::MemOverlapStatus::Partial;
}

bool overlaps_another(const c10::IValue& written, c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& tensor = written.toTensor();
  if (!tensor.defined() || !tensor.is_mps()) return true;
  bool some = false;
  runtime::for_each_tensor(arguments, [&](const at::Tensor& other) { some |= overlaps_in_part(tensor, other); });
  return some;
}

}  // namespace

void CallKey::note(const at::Tensor& tensor) {
  // One that Python made of a number has a say in no type but where all are such.
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->is_wrapped_number()) return;
  all_floating_ &= c10::isFloatingType(tensor.scalar_type()) || tensor.is_complex();
}

bool CallKey::add(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    put('u');
    return true;
  }
  const c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  if (impl.layout() != at::kStrided || tensor.is_conj() || tensor.is_neg() || impl.is_python_dispatch()) return false;
  if (impl.is_mps()) {
    if (!is_in_a_block(impl) || !add_place(impl)) return false;
  } else {
    // A number beside the device's tensors.
    if (!impl.is_cpu() || impl.dim() != 0) return false;
    put(impl.is_wrapped_number() ? 'w' : 'c');
  }
  put(c10::typeMetaToScalarType(impl.dtype()));
  put_all('s', impl.sizes());
  for (const std::int64_t stride : impl.strides()) put(stride);
  return true;
}

// Which tensor before it is the same, or has the same storage.
bool CallKey::add_place(const c10::TensorImpl& impl) {
  if (places_.size() == kMostPlaces) return false;
  const Place place{&impl, impl.unsafe_storage().unsafeGetStorageImpl()};
  const auto* const same = std::ranges::find(places_, place);
  const auto* const together = std::ranges::find(places_, place.storage, &Place::storage);
  put(impl.is_wrapped_number() ? 'W' : 't');
  put(static_cast<std::uint16_t>(same - places_.begin()));
  put(static_cast<std::uint16_t>(together - places_.begin()));
  some_share_ |= together != places_.end();
  places_.push_back(place);
  return true;
}

template <typename T>
void CallKey::put_number(char kind, T value) {
  put(kind);
  const bool fits = !(std::fabs(static_cast<double>(value)) > kFitsEveryType);
  if (!all_floating_ || !fits) put(value);
}

bool CallKey::add(const c10::Scalar& number) {
  if (number.isSymbolic() || number.isComplex()) return false;
  if (number.isFloatingPoint()) {
    put_number('D', number.toDouble());
  } else if (number.isBoolean()) {
    put('B');
    put(number.toBool());
  } else {
    put_number('I', number.toLong());
  }
  return true;
}

bool CallKey::add(c10::SymIntArrayRef values) {
  put('y');
  put(values.size());
  for (const c10::SymInt& value : values) {
    const std::optional<std::int64_t> known = value.maybe_as_int();
    if (!known) return false;
    put(*known);
  }
  return true;
}

bool CallKey::add_value(const c10::IValue& value, bool is_number) {
  if (value.isTensor()) return add(value.toTensor());
  if (is_number && value.isScalar()) return add(value.toScalar());
  if (value.isNone()) {
    put('n');
  } else if (value.isInt()) {
    put('i');
    put(value.toInt());
  } else if (value.isBool()) {
    put('b');
    put(value.toBool());
  } else if (value.isDouble()) {
    put('f');
    put(value.toDouble());
  } else if (value.isIntList()) {
    put_all('l', value.toIntVector());
  } else if (value.isDoubleList()) {
    put_all('m', value.toDoubleVector());
  } else if (value.isBoolList()) {
    const c10::List<bool> list = value.toBoolList();
    put('o');
    put(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) put(list.get(i));
  } else if (value.isString()) {
    put_all('q', value.toStringView());
  } else if (value.isDevice()) {
    put('v');
    put(value.toDevice().type());
  } else if (value.isTensorList()) {
    const auto list = value.toTensorVector();
    put('L');
    put(list.size());
    for (const at::Tensor& each : list) {
      if (!add(each)) return false;
    }
  } else if (const auto tensors = runtime::optional_tensors(value)) {
    put('O');
    put(tensors->size());
    for (const std::optional<at::Tensor> each : *tensors) {
      if (!add(each) || (each && is_mask(*each))) return false;
    }
  } else {
    return false;
  }
  return true;
}

bool CallKey::read(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments) {
  runtime::for_each_tensor(arguments, [this](const at::Tensor& tensor) { note(tensor); });
  bool writes_list = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!add_value(arguments[i], is_number_type(*argument.type()))) return false;
    const c10::AliasInfo* alias = argument.alias_info();
    if (alias == nullptr || !alias->isWrite()) continue;
    if (arguments[i].isTensorList()) {
      writes_list = true;
    } else if (!arguments[i].isTensor() || overlaps_another(arguments[i], arguments)) {
      return false;
    }
  }
  return !(writes_list && some_share_);
}

}  // namespace anymps::backend::dispatch
