#include "backend/dispatch/refusal_predicates.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "gpu/device.h"

namespace anymps::backend::dispatch::predicates {
namespace {

// Of at::native::GridSamplerInterpolation.
constexpr std::int64_t kNearest = 1;
constexpr std::int64_t kBicubic = 2;

struct PoolSizes {
  std::int64_t input_height = 1;
  std::int64_t input_width = 1;
  std::int64_t output_height = 1;
  std::int64_t output_width = 1;

  // Other kinds of bad input get the CPU's own refusal, so they count as neither here.
  bool usable() const { return input_height > 0 && input_width > 0 && output_height >= 0 && output_width >= 0; }
  bool shrinks() const { return input_height >= output_height && input_width >= output_width; }
  bool grows() const { return input_height <= output_height && input_width <= output_width; }
};

PoolSizes pool_sizes(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& input = arguments[0].toTensor();
  const std::vector<std::int64_t> output = arguments[1].toIntVector();
  if (input.dim() < 3 || output.size() != 2) return {};
  return {input.size(-2), input.size(-1), output[0], output[1]};
}

// On a Mac's processor the remainder of a division by zero is what was divided.
bool divides(std::int64_t divisor, std::int64_t number) { return divisor != 0 && number % divisor == 0; }

bool has_fractions(const c10::IValue& value) {
  const at::ScalarType dtype = value.toTensor().scalar_type();
  return at::isFloatingType(dtype) || at::isComplexType(dtype);
}

// scatter_reduce: by amin or amax.
bool compares(c10::ArrayRef<c10::IValue> arguments, at::ScalarType dtype) {
  const std::string_view how = arguments[4].toStringView();
  return (how == "amin" || how == "amax") && arguments[0].toTensor().scalar_type() == dtype;
}

}  // namespace

bool types_differ(c10::ArrayRef<c10::IValue> arguments) {
  return arguments[0].toTensor().scalar_type() != arguments[1].toTensor().scalar_type();
}

bool sizes_are_no_multiples_of_32(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& weight = arguments[1].toTensor();
  return weight.dim() == 2 && (weight.size(0) % 32 != 0 || weight.size(1) % 32 != 0);
}

bool is_larger_than_int_max(c10::ArrayRef<c10::IValue> arguments) {
  return arguments[0].toTensor().numel() > std::numeric_limits<std::int32_t>::max();
}

bool dim_is_more_than_four_from_the_end(c10::ArrayRef<c10::IValue> arguments) {
  const at::Tensor& self = arguments[0].toTensor();
  const std::int64_t dim = arguments[2].toInt();
  const std::int64_t from_the_end = dim < 0 ? -dim : self.dim() - dim;
  return from_the_end > 4 && from_the_end <= self.dim() && self.numel() > 0;
}

bool pivot_is_false(c10::ArrayRef<c10::IValue> arguments) { return !arguments[1].toBool(); }

bool sizes_grow_and_shrink(c10::ArrayRef<c10::IValue> arguments) {
  const PoolSizes sizes = pool_sizes(arguments);
  return sizes.usable() && !sizes.shrinks() && !sizes.grows();
}

bool input_not_divisible_by_output(c10::ArrayRef<c10::IValue> arguments) {
  const PoolSizes sizes = pool_sizes(arguments);
  return sizes.usable() && sizes.input_height >= sizes.output_height &&
         !(divides(sizes.output_height, sizes.input_height) && divides(sizes.output_width, sizes.input_width));
}

bool output_not_divisible_by_input(c10::ArrayRef<c10::IValue> arguments) {
  const PoolSizes sizes = pool_sizes(arguments);
  return sizes.usable() && sizes.input_height < sizes.output_height &&
         !(divides(sizes.input_height, sizes.output_height) && divides(sizes.input_width, sizes.output_width));
}

bool right_side_alone_is_complex(c10::ArrayRef<c10::IValue> arguments) {
  return !arguments[0].toTensor().is_complex() && arguments[1].toTensor().is_complex();
}

bool is_below_macos_15(c10::ArrayRef<c10::IValue>) { return gpu::device_facts().macos_major < 15; }

bool compares_int64(c10::ArrayRef<c10::IValue> arguments) { return compares(arguments, at::kLong); }
bool compares_int64_below_macos_15(c10::ArrayRef<c10::IValue> arguments) {
  return compares_int64(arguments) && is_below_macos_15(arguments);
}
bool compares_int32_below_macos_15(c10::ArrayRef<c10::IValue> arguments) {
  return compares(arguments, at::kInt) && is_below_macos_15(arguments);
}

bool transforms_more_than_four_dimensions(c10::ArrayRef<c10::IValue> arguments) {
  return arguments[1].toIntList().size() > 4;
}

bool interpolation_is_nearest(c10::ArrayRef<c10::IValue> arguments) { return arguments[2].toInt() == kNearest; }
bool interpolation_is_bicubic(c10::ArrayRef<c10::IValue> arguments) { return arguments[2].toInt() == kBicubic; }
bool interpolation_of_backward_is_bicubic(c10::ArrayRef<c10::IValue> arguments) {
  return arguments[3].toInt() == kBicubic;
}

bool accumulates_fractions(c10::ArrayRef<c10::IValue> arguments) {
  return arguments[3].toBool() && has_fractions(arguments[0]);
}

bool sums_or_multiplies_fractions(c10::ArrayRef<c10::IValue> arguments) {
  const std::string_view how = arguments[4].toStringView();
  return how != "amin" && how != "amax" && has_fractions(arguments[0]);
}

bool always(c10::ArrayRef<c10::IValue>) { return true; }

}  // namespace anymps::backend::dispatch::predicates
