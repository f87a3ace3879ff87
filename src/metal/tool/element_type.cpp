#include "metal/tool/element_type.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/support/float16.h"

namespace anymps::metal::tool {
namespace {

struct ScalarEntry {
  Scalar scalar;
  std::string_view metal;
  std::string_view brief;
  std::size_t size;
};

constexpr std::array kScalars = {
    ScalarEntry{Scalar::kBool, "bool", "b8", 1},     ScalarEntry{Scalar::kI8, "char", "i8", 1},
    ScalarEntry{Scalar::kU8, "uchar", "u8", 1},      ScalarEntry{Scalar::kI16, "short", "i16", 2},
    ScalarEntry{Scalar::kU16, "ushort", "u16", 2},   ScalarEntry{Scalar::kI32, "int", "i32", 4},
    ScalarEntry{Scalar::kU32, "uint", "u32", 4},     ScalarEntry{Scalar::kI64, "long", "i64", 8},
    ScalarEntry{Scalar::kU64, "ulong", "u64", 8},    ScalarEntry{Scalar::kF16, "half", "f16", 2},
    ScalarEntry{Scalar::kBf16, "bfloat", "bf16", 2}, ScalarEntry{Scalar::kF32, "float", "f32", 4},
};

const ScalarEntry& scalar_entry_of(Scalar scalar) { return kScalars[static_cast<std::size_t>(scalar)]; }

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

std::uint16_t bfloat_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U);  // to nearest, ties to even
}

double as_double(Number value) {
  return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

std::uint64_t as_bits(Number value) {
  if (const auto* real = std::get_if<double>(&value))
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(*real));
  return std::holds_alternative<std::int64_t>(value) ? static_cast<std::uint64_t>(std::get<std::int64_t>(value))
                                                     : std::get<std::uint64_t>(value);
}

[[noreturn]] void refuse_value(Scalar scalar, std::string_view text) {
  throw RequestError("`" + std::string(text) + "` is no value of " + std::string(scalar_entry_of(scalar).metal));
}

// Without the ends of std::from_chars, which knows no "0x" of its own.
template <typename T>
std::optional<T> whole(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool fits(Scalar scalar, std::int64_t value) {
  const auto bits = static_cast<unsigned>(8 * size_of(scalar));
  if (bits == 64) return true;
  const std::int64_t most = std::int64_t{1} << (bits - 1);
  return value >= -most && value < most;
}

bool fits(Scalar scalar, std::uint64_t value) {
  const auto bits = static_cast<unsigned>(8 * size_of(scalar));
  return bits == 64 || value >> bits == 0;
}

}  // namespace

std::size_t size_of(Scalar scalar) { return scalar_entry_of(scalar).size; }

std::optional<ElementType> element_type(std::string_view name) {
  ElementType type;
  if (name.starts_with("packed_")) {
    type.packed = true;
    name.remove_prefix(std::string_view("packed_").size());
  } else if (name.starts_with("atomic_")) {
    name.remove_prefix(std::string_view("atomic_").size());
  }
  for (const ScalarEntry& entry : kScalars) {
    type.scalar = entry.scalar;
    if (!type.packed && name == entry.brief) return type;
    if (!name.starts_with(entry.metal)) continue;
    const std::string_view rest = name.substr(entry.metal.size());
    if (rest.empty() && !type.packed) return type;
    if (rest != "2" && rest != "3" && rest != "4") continue;
    type.width = static_cast<unsigned>(rest[0] - '0');
    return type;
  }
  return std::nullopt;
}

std::string name_of(const ElementType& type) {
  std::string name = type.packed ? "packed_" : "";
  name += scalar_entry_of(type.scalar).metal;
  if (type.width > 1) name += std::to_string(type.width);
  return name;
}

Number number_at(Scalar scalar, const std::byte* from) {
  switch (scalar) {
    case Scalar::kBool:
    case Scalar::kU8:
      return std::uint64_t{load<std::uint8_t>(from)};
    case Scalar::kI8:
      return std::int64_t{load<std::int8_t>(from)};
    case Scalar::kI16:
      return std::int64_t{load<std::int16_t>(from)};
    case Scalar::kU16:
      return std::uint64_t{load<std::uint16_t>(from)};
    case Scalar::kI32:
      return std::int64_t{load<std::int32_t>(from)};
    case Scalar::kU32:
      return std::uint64_t{load<std::uint32_t>(from)};
    case Scalar::kI64:
      return load<std::int64_t>(from);
    case Scalar::kU64:
      return load<std::uint64_t>(from);
    case Scalar::kF16:
      return static_cast<double>(load<gpu::support::float16>(from));
    case Scalar::kBf16:
      return static_cast<double>(std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(from)} << 16U));
    case Scalar::kF32:
      return static_cast<double>(load<float>(from));
  }
  return {};
}

void put_number(Scalar scalar, Number value, std::byte* to) {
  switch (scalar) {
    case Scalar::kBool:
      return store(static_cast<std::uint8_t>(as_double(value) != 0), to);
    case Scalar::kF16:
      return store(static_cast<gpu::support::float16>(as_double(value)), to);
    case Scalar::kBf16:
      return store(bfloat_of(static_cast<float>(as_double(value))), to);
    case Scalar::kF32:
      return store(static_cast<float>(as_double(value)), to);
    default:
      const std::uint64_t bits = as_bits(value);
      std::memcpy(to, &bits, size_of(scalar));  // the low bytes come first
  }
}

Number number_of(Scalar scalar, std::string_view text) {
  if (scalar == Scalar::kBool) {
    if (text == "true" || text == "1") return std::uint64_t{1};
    if (text == "false" || text == "0") return std::uint64_t{0};
    refuse_value(scalar, text);
  }
  if (is_floating(scalar)) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) refuse_value(scalar, text);
    return value;
  }
  if (is_signed(scalar)) {
    if (const auto value = whole<std::int64_t>(text); value && fits(scalar, *value)) return *value;
  } else {
    if (const auto value = whole<std::uint64_t>(text); value && fits(scalar, *value)) return *value;
  }
  refuse_value(scalar, text);
}

std::vector<std::byte> lay_out(const ElementType& type, std::span<const std::byte> scalars) {
  const std::size_t dense = size_of(type.scalar) * type.width;
  std::vector<std::byte> elements(scalars.size() / dense * type.stride());
  for (std::size_t i = 0; i < scalars.size() / dense; ++i) {
    std::memcpy(elements.data() + i * type.stride(), scalars.data() + i * dense, dense);
  }
  return elements;
}

std::vector<std::byte> scalars_of(const ElementType& type, std::span<const std::byte> elements) {
  const std::size_t dense = size_of(type.scalar) * type.width;
  const std::size_t count = elements.size() / type.stride();
  std::vector<std::byte> scalars(count * dense);
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(scalars.data() + i * dense, elements.data() + i * type.stride(), dense);
  }
  return scalars;
}

}  // namespace anymps::metal::tool
