#include "lab/runbook/parity/ulps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace anymps::lab::runbook::parity {
namespace {

template <typename Word>
Word word_at(const std::byte* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

double of_half(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  double magnitude = std::ldexp(fraction, -24);
  if (exponent == 0x1f) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent != 0) {
    magnitude = std::ldexp(0x400 + fraction, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// Sign and magnitude become one scale on which neighbours differ by one, and both zeros are zero.
template <typename Word>
std::int64_t place_on_line(Word bits) {
  constexpr int kSign = std::numeric_limits<Word>::digits - 1;
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Word>(~(Word{1} << kSign)));
  return (bits >> kSign) != 0 ? -magnitude : magnitude;
}

std::uint64_t between(std::int64_t left, std::int64_t right) {
  const auto [low, high] = std::minmax(left, right);
  return static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
}

std::int64_t place_at(ElementKind kind, const std::byte* bytes) {
  switch (kind) {
    case ElementKind::kFloat16:
    case ElementKind::kBFloat16:
      return place_on_line(word_at<std::uint16_t>(bytes));
    case ElementKind::kFloat32:
      return place_on_line(word_at<std::uint32_t>(bytes));
    case ElementKind::kFloat64:
      return place_on_line(word_at<std::uint64_t>(bytes));
    default:
      return word_at<std::int64_t>(bytes);
  }
}

// Of a number whose exponent and fraction the format has, so that nothing is rounded.
std::uint16_t half_of(double value) {
  std::uint16_t bits = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::abs(value);
  if (std::isinf(magnitude)) return bits | 0x7c00;
  if (magnitude < std::ldexp(1, -14)) return bits | static_cast<std::uint16_t>(std::ldexp(magnitude, 24));
  const int exponent = std::ilogb(magnitude);
  const auto fraction = static_cast<std::uint16_t>(std::ldexp(magnitude, 10 - exponent) - 0x400);
  return static_cast<std::uint16_t>(bits | ((exponent + 15) << 10) | fraction);
}

std::array<std::byte, 8> value_bytes(ElementKind kind, double value) {
  std::array<std::byte, 8> bytes{};
  const auto put = [&bytes](auto word) { std::memcpy(bytes.data(), &word, sizeof word); };
  switch (kind) {
    case ElementKind::kFloat16:
      put(half_of(value));
      break;
    case ElementKind::kBFloat16:
      put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16));
      break;
    case ElementKind::kFloat32:
      put(static_cast<float>(value));
      break;
    case ElementKind::kFloat64:
      put(value);
      break;
    default:
      put(static_cast<std::int64_t>(value));
  }
  return bytes;
}

}  // namespace

std::optional<ElementKind> element_kind(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, ElementKind>, 5> kKinds = {{{"float16", ElementKind::kFloat16},
                                                                               {"bfloat16", ElementKind::kBFloat16},
                                                                               {"float32", ElementKind::kFloat32},
                                                                               {"float64", ElementKind::kFloat64},
                                                                               {"int64", ElementKind::kInteger}}};
  const auto* const found = std::ranges::find(kKinds, dtype, &std::pair<std::string_view, ElementKind>::first);
  return found != kKinds.end() ? std::optional(found->second) : std::nullopt;
}

std::size_t element_bytes(ElementKind kind) {
  switch (kind) {
    case ElementKind::kFloat16:
    case ElementKind::kBFloat16:
      return 2;
    case ElementKind::kFloat32:
      return 4;
    default:
      return 8;
  }
}

double epsilon_of(ElementKind kind) {
  switch (kind) {
    case ElementKind::kFloat16:
      return std::ldexp(1, -10);
    case ElementKind::kBFloat16:
      return std::ldexp(1, -7);
    case ElementKind::kFloat32:
      return std::numeric_limits<float>::epsilon();
    case ElementKind::kFloat64:
      return std::numeric_limits<double>::epsilon();
    default:
      return 0;
  }
}

double Elements::at(std::size_t index) const {
  const std::byte* const element = bytes.data() + index * element_bytes(kind);
  switch (kind) {
    case ElementKind::kFloat16:
      return of_half(word_at<std::uint16_t>(element));
    case ElementKind::kBFloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(word_at<std::uint16_t>(element)) << 16);
    case ElementKind::kFloat32:
      return word_at<float>(element);
    case ElementKind::kFloat64:
      return word_at<double>(element);
    default:
      return static_cast<double>(word_at<std::int64_t>(element));
  }
}

std::uint64_t ulps_between(ElementKind kind, const std::byte* left, const std::byte* right) {
  return between(place_at(kind, left), place_at(kind, right));
}

std::uint64_t ulps_between(ElementKind kind, double left, double right) {
  return ulps_between(kind, value_bytes(kind, left).data(), value_bytes(kind, right).data());
}

double relative_difference(double left, double right) {
  if (left == right) return 0;
  return std::abs(left - right) / std::max(std::abs(left), std::abs(right));
}

Difference difference_between(const Elements& left, const Elements& right) {
  Difference difference;
  difference.elements = std::min(left.size(), right.size());
  const bool same_kind = left.kind == right.kind;
  if (same_kind) difference.max_ulps = 0;
  double largest = 0;
  for (std::size_t i = 0; i < difference.elements; ++i) {
    const double a = left.at(i);
    const double b = right.at(i);
    if (!std::isfinite(a) || !std::isfinite(b)) {
      if (a != b && !(std::isnan(a) && std::isnan(b))) ++difference.not_finite;
      continue;
    }
    largest = std::max({largest, std::abs(a), std::abs(b)});
    if (same_kind) {
      const std::size_t at = i * element_bytes(left.kind);
      difference.max_ulps =
          std::max(*difference.max_ulps, ulps_between(left.kind, left.bytes.data() + at, right.bytes.data() + at));
    }
    difference.max_absolute = std::max(difference.max_absolute, std::abs(a - b));
    difference.max_element_relative = std::max(difference.max_element_relative, relative_difference(a, b));
  }
  if (largest > 0) difference.max_relative = difference.max_absolute / largest;
  return difference;
}

}  // namespace anymps::lab::runbook::parity
