// Numbers as they lie in memory. Reals are computed in double and rounded once, to the type of the result: for sums,
// products, quotients and roots of floats, halves and bfloats that is what rounding the exact result gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace anymps::metal::interpret {

enum class Kind : std::uint8_t {
  kInteger,
  kHalf,
  kBfloat,
  kFloat,
  kPointer,
  kAggregate,  // a struct or an array: bytes that are only moved
};

struct Shape {
  Kind kind = Kind::kAggregate;
  unsigned bits = 0;           // of an element
  unsigned element_bytes = 0;  // of an element; all of an aggregate
  unsigned count = 0;          // of elements: 1 for what is no vector, 0 for void

  std::size_t bytes() const { return std::size_t{element_bytes} * count; }
  bool is_real() const { return kind == Kind::kHalf || kind == Kind::kBfloat || kind == Kind::kFloat; }
};

inline std::uint64_t read_bits(const std::byte* from, unsigned bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);
  return bits;
}
inline void write_bits(std::byte* to, unsigned bytes, std::uint64_t bits) { std::memcpy(to, &bits, bytes); }

inline std::int64_t sign_extended(std::uint64_t bits, unsigned width) {
  const unsigned unused = 64 - width;
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

double read_real(Kind kind, const std::byte* from);
void write_real(Kind kind, std::byte* to, double value);
// The nearest number of that kind.
double rounded(Kind kind, double value);

// The nearest real to an integer; a double has too few bits to pass through.
void write_integer_as_real(Kind kind, std::byte* to, std::uint64_t magnitude, bool negative);
// Towards zero, to the nearest end where the integer has no room, NaN to zero. Metal leaves the latter two undefined.
std::uint64_t real_as_integer(double value, unsigned bits, bool is_signed);

double fused_multiply_add(Kind kind, double a, double b, double c);

}  // namespace anymps::metal::interpret
