// The one array of bindings that the code of kernels reads.
#pragma once

#include "metal/air/signature.h"

namespace anymps::metal::abi {

// Where in Metal's two tables, buffers and threadgroup memory, a binding lies in the one array that kernels read.
constexpr unsigned kSlots = 2 * air::kMaxBindings;
constexpr unsigned slot_of(air::ArgumentKind kind, unsigned binding) {
  return kind == air::ArgumentKind::kThreadgroupBuffer ? air::kMaxBindings + binding : binding;
}

}  // namespace anymps::metal::abi
