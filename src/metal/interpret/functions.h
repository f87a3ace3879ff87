// Functions that AIR declares and the GPU has. Each answers null for a name that it does not know.
#pragma once

#include <span>
#include <string_view>

#include "metal/interpret/lanes.h"

namespace anymps::metal::interpret {

// A declaration's name, "air.simd_prefix_inclusive_sum.s.v2i32", in parts.
struct DeclaredName {
  explicit DeclaredName(std::string_view name);
  std::string_view operation;  // "simd_prefix_inclusive_sum"
  std::string_view suffix;     // "s.v2i32"
  bool is_signed() const { return suffix.starts_with("s."); }
};

// Arithmetic, and LLVM's own functions.
Step math_step(std::string_view name, const Operand& to, std::span<const Operand> from);
Step conversion_step(const DeclaredName& name, const Operand& to, std::span<const Operand> from);
Step memory_step(std::string_view name, const Operand& to, std::span<const Operand> from);
// What the lanes of a simdgroup do together: all but threadgroup barriers.
Step simdgroup_step(const DeclaredName& name, const Operand& to, std::span<const Operand> from);
Step matrix_step(const DeclaredName& name, const Operand& to, std::span<const Operand> from);
// Tensors, cooperative tensors and the operations on them.
Step tensor_step(std::string_view name, const Operand& to, std::span<const Operand> from);

}  // namespace anymps::metal::interpret
