// ResultKind: what a result of an operator looks like, before there is one.
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstddef>
#include <cstdint>

namespace anymps::backend::dispatch {

struct ResultKind {
  static constexpr int kNew = -1;
  static constexpr int kUndefined = -2;

  int argument = kNew;  // which of the call's tensors it is
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::SmallVector<std::int64_t, 5> sizes{};
  c10::SmallVector<std::int64_t, 5> strides{};
  std::size_t bytes = 0;  // of its storage
};
using ResultKinds = c10::SmallVector<ResultKind, 2>;

}  // namespace anymps::backend::dispatch
