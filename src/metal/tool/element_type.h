// The types of which buffers have elements: Metal's scalars and vectors, and their values as texts and numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "metal/tool/request_error.h"

namespace anymps::metal::tool {

enum class Scalar : std::uint8_t { kBool, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF16, kBf16, kF32 };

std::size_t size_of(Scalar scalar);
constexpr bool is_floating(Scalar scalar) { return scalar >= Scalar::kF16; }
constexpr bool is_signed(Scalar scalar) {
  return scalar == Scalar::kI8 || scalar == Scalar::kI16 || scalar == Scalar::kI32 || scalar == Scalar::kI64;
}

struct ElementType {
  Scalar scalar = Scalar::kF32;
  unsigned width = 1;   // of a vector
  bool packed = false;  // "packed_float3" has three floats, "float3" has the room of four
  bool operator==(const ElementType&) const = default;

  std::size_t stride() const { return size_of(scalar) * (width == 3 && !packed ? 4 : width); }
};

// Of Metal's names ("float", "packed_half3", "atomic_uint") and short ones ("f32", "bf16", "i64"); nothing for others.
std::optional<ElementType> element_type(std::string_view name);
// Metal's name.
std::string name_of(const ElementType& type);

// The value of one scalar in memory.
using Number = std::variant<std::int64_t, std::uint64_t, double>;
Number number_at(Scalar scalar, const std::byte* from);
// Rounds to what the type has; a whole number that it has not wraps around.
void put_number(Scalar scalar, Number value, std::byte* to);
// Throws RequestError for a text that is no value of the type.
Number number_of(Scalar scalar, std::string_view text);

// Scalars one after the other, and elements as they lie in a buffer: the same but for the fourth of "float3".
std::vector<std::byte> lay_out(const ElementType& type, std::span<const std::byte> scalars);
std::vector<std::byte> scalars_of(const ElementType& type, std::span<const std::byte> elements);

}  // namespace anymps::metal::tool
