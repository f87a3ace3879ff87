#include "metal/interpret/numbers.h"

#include <bit>
#include <cmath>
#include <limits>

#include "gpu/support/float16.h"

namespace anymps::metal::interpret {
namespace {

std::uint16_t bfloat_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T>
void write(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

// The highest bits of a number, with a one below where any of the rest is set: rounding it rounds the number.
std::uint64_t with_sticky_bit(std::uint64_t magnitude, unsigned keep, unsigned& dropped) {
  const unsigned width = static_cast<unsigned>(std::bit_width(magnitude));
  dropped = width > keep ? width - keep : 0;
  const std::uint64_t rest = magnitude & ((std::uint64_t{1} << dropped) - 1);
  return magnitude >> dropped | (rest != 0 ? 1U : 0U);
}

}  // namespace

double read_real(Kind kind, const std::byte* from) {
  switch (kind) {
    case Kind::kHalf:
      return static_cast<float>(read<gpu::support::float16>(from));
    case Kind::kBfloat:
      return std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(from)) << 16);
    default:
      return read<float>(from);
  }
}

void write_real(Kind kind, std::byte* to, double value) {
  switch (kind) {
    case Kind::kHalf:
      return write(to, static_cast<gpu::support::float16>(value));
    case Kind::kBfloat:
      return write(to, bfloat_of(static_cast<float>(value)));
    default:
      return write(to, static_cast<float>(value));
  }
}

double rounded(Kind kind, double value) {
  std::byte bytes[sizeof(float)];
  write_real(kind, bytes, value);
  return read_real(kind, bytes);
}

void write_integer_as_real(Kind kind, std::byte* to, std::uint64_t magnitude, bool negative) {
  constexpr unsigned kKept = 50;  // a double holds them all
  unsigned dropped = 0;
  std::uint64_t kept = with_sticky_bit(magnitude, kind == Kind::kBfloat ? 20 : kKept, dropped);
  const double value = std::ldexp(static_cast<double>(kept), static_cast<int>(dropped));
  write_real(kind, to, negative ? -value : value);
}

std::uint64_t real_as_integer(double value, unsigned bits, bool is_signed) {
  if (std::isnan(value)) return 0;
  const double beyond = std::ldexp(1.0, static_cast<int>(is_signed ? bits - 1 : bits));
  if (is_signed) {
    if (value >= beyond) return static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) >> (64 - bits);
    if (value <= -beyond) return std::uint64_t{1} << (bits - 1);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
  if (value >= beyond) return std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  return value <= 0 ? 0 : static_cast<std::uint64_t>(value);
}

double fused_multiply_add(Kind kind, double a, double b, double c) {
  // Products of floats fit a double, sums of them with another do not.
  if (kind == Kind::kFloat) return std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
  return std::fma(a, b, c);
}

}  // namespace anymps::metal::interpret
