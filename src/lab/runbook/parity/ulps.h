// How far two tensors are apart, element by element: in units in the last place, relative and absolute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace anymps::lab::runbook::parity {

enum class ElementKind { kFloat16, kBFloat16, kFloat32, kFloat64, kInteger };

// "float32", "bfloat16", "int64", as PyTorch names them; nothing for those whose elements cannot be compared here.
// Integers and booleans are kept as int64.
std::optional<ElementKind> element_kind(std::string_view dtype);
std::size_t element_bytes(ElementKind kind);
// The step from 1 to the next number; 0 for integers.
double epsilon_of(ElementKind kind);

// The elements of one tensor, as they lie in memory; what is left over at the end is no element.
struct Elements {
  ElementKind kind = ElementKind::kFloat32;
  std::span<const std::byte> bytes;

  std::size_t size() const { return bytes.size() / element_bytes(kind); }
  double at(std::size_t index) const;
};

// How many numbers of that kind lie between the two, one of them counted: 0 for equal ones, zeros of either sign among
// them, 1 for neighbours. Infinity is the neighbour of the largest number. Neither may be NaN.
std::uint64_t ulps_between(ElementKind kind, const std::byte* left, const std::byte* right);
// Of two numbers that are exact in that kind.
std::uint64_t ulps_between(ElementKind kind, double left, double right);

// An infinity or NaN that both have is no difference. One that only one of them has is counted, and is no part of the
// figures, which would say nothing else any more.
struct Difference {
  std::uint64_t elements = 0;
  std::optional<std::uint64_t> max_ulps;  // nothing where the kinds differ
  double max_absolute = 0;
  double max_relative = 0;          // the largest difference, over the largest element of either tensor
  double max_element_relative = 0;  // of an element, over the larger of the two
  std::uint64_t not_finite = 0;
};

// Both have the same number of elements, or what the longer one has more is not looked at.
Difference difference_between(const Elements& left, const Elements& right);

// |a - b| over the larger; 0 for equal ones.
double relative_difference(double left, double right);

}  // namespace anymps::lab::runbook::parity
