// CallKey: all of an operator's arguments that may decide the shapes of its results, their types, or whether it throws:
// the tensors' types, sizes, strides, and which of them share memory, and the other arguments' values. Two calls with
// equal keys have results of the same kind.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Scalar.h>
#include <c10/core/SymIntArrayRef.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/SmallVector.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace anymps::backend::dispatch {

class CallKey {
 public:
  // Both are false where the arguments include something that is not put into a key: a layout other than strided, a
  // generator, memory that is not the device's.
  //
  // Those of a boxed call; false as well where a tensor that is written to overlaps a part of another, or one of a list
  // may.
  bool read(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments);
  // Those of a call with arguments of these types.
  template <typename... Arguments>
  bool read(const Arguments&... arguments) {
    (note(arguments), ...);
    return (add(arguments) && ...);
  }

  std::string_view bytes() const { return {bytes_.data(), bytes_.size()}; }

  // Whether no tensor among them has a type of integers or bools.
  bool all_floating() const { return all_floating_; }

 private:
  void note(const at::Tensor& tensor);
  void note(const std::optional<at::Tensor>& tensor) {
    if (tensor) note(*tensor);
  }
  template <typename Other>
  void note(const Other&) {}

  bool add(const at::Tensor& tensor);
  bool add_place(const c10::TensorImpl& impl);
  bool add(const c10::Scalar& number);
  bool add(c10::SymIntArrayRef values);
  bool add(const c10::SymInt& value) { return add(c10::SymIntArrayRef(value)); }
  bool add_value(const c10::IValue& value, bool is_number);
  template <typename T>
  bool add(const std::optional<T>& value) {
    put(value.has_value());
    return !value || add(*value);
  }
  template <typename T>
  bool add(c10::ArrayRef<T> values) {
    put_all('l', values);
    return true;
  }
  template <typename T>
  bool add(const c10::OptionalArrayRef<T>& values) {
    put(values.has_value());
    return !values || add(*values);
  }
  template <std::size_t N>
  bool add(const std::array<bool, N>& values) {
    put_all('o', values);
    return true;
  }
  template <typename T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  bool add(const T& value) {
    put(value);
    return true;
  }

  // A number of the program's changes from step to step (a learning rate, a bias correction) and changes no shape. What
  // it can do is not fit the tensor's type, which is an error: those that may not are told apart.
  template <typename T>
  void put_number(char kind, T value);

  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const char* first = reinterpret_cast<const char*>(&value);
    bytes_.append(first, first + sizeof value);
  }
  template <typename List>
  void put_all(char tag, const List& list) {
    put(tag);
    put(list.size());
    for (const auto& each : list) put(each);
  }

  // Looked through for each tensor, so that there must not be many: a step of an optimizer has some hundreds.
  static constexpr std::size_t kMostPlaces = 512;
  struct Place {
    const c10::TensorImpl* tensor;
    const c10::StorageImpl* storage;
    bool operator==(const Place&) const = default;
  };

  c10::SmallVector<char, 512> bytes_;
  c10::SmallVector<Place, 8> places_;
  bool some_share_ = false;  // memory
  bool all_floating_ = true;
};

}  // namespace anymps::backend::dispatch
