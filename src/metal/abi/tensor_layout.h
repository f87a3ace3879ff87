// Metal 4's tensors and cooperative tensors as they lie in a thread's memory, and which thread holds which element of a
// cooperative tensor. AIR leaves all of this to the GPU's driver: kernels ask for sizes, pointers and coordinates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "metal/abi/cooperative_op.h"

namespace anymps::metal::abi {

// A tensor of a thread (`tensor_inline`): this, then `rank` extents and as many strides, 64 bits each, the innermost
// first. Strides count elements.
struct TensorHeader {
  std::byte* data;
  std::int64_t element_bytes;
};
constexpr std::size_t tensor_bytes(std::size_t rank) { return sizeof(TensorHeader) + 2 * rank * sizeof(std::int64_t); }

// A thread's part of a cooperative tensor: this, then its elements.
struct CooperativeTensorHeader {
  // Elements beyond are there and mean nothing, because an operand of the product ended before.
  std::int32_t valid_columns;
  std::int32_t valid_rows;
  std::int32_t unused[2];
};
static_assert(sizeof(CooperativeTensorHeader) == 16);

enum class TensorElement : std::uint32_t { kFloat, kHalf, kBfloat, kInt8, kUint8, kInt32 };
constexpr unsigned bytes_of(TensorElement element) {
  constexpr std::array<unsigned, 6> kBytes{4, 2, 2, 1, 1, 4};
  return kBytes[static_cast<std::size_t>(element)];
}
// As the functions of tensor operations are named: "f16", "b16", "ui8".
std::optional<TensorElement> tensor_element_named(std::string_view name);

// How those functions are told of a type: the lowest byte is its bits.
constexpr std::uint32_t kInt32Code = 0x20000020;
constexpr unsigned bytes_of_code(std::uint32_t code) { return (code & 0xff) / 8; }

// How air.init_strided_private_tensor is told of one: the bytes of an element by that number; 0 for what is not known.
constexpr unsigned bytes_of_tensor_type(std::uint64_t number) {
  // float, half, bfloat, char, uchar, short, ushort, int, uint, long, ulong
  constexpr std::array<unsigned, 11> kBytes{4, 2, 2, 1, 1, 2, 2, 4, 4, 8, 8};
  return number < kBytes.size() ? kBytes[number] : 0;
}

// What the functions of tensor operations are told of where a tensor is described: in the thread's memory.
constexpr std::uint32_t kInlineTensor = 2;

// Which elements of a matrix a thread holds. A simdgroup has whole fragments of 16 by 16, of which a lane holds four
// neighbours of two rows, as on Apple's GPUs of family 10: MLX and PyTorch put elements there by themselves. Several
// simdgroups share the fragments evenly, those of a row first. A scope of one thread holds all by itself.
struct CooperativeLayout {
  std::uint32_t rows;
  std::uint32_t columns;
  std::uint32_t threads;  // of the scope

  static constexpr std::uint32_t kFragment = 16;
  static constexpr std::uint32_t kSlots = kFragment * kFragment / kLanes;  // of a fragment, for a lane

  constexpr bool alone() const { return threads < kLanes; }
  constexpr std::uint32_t simdgroups() const { return alone() ? 1 : threads / kLanes; }
  constexpr std::uint32_t fragment_columns() const { return (columns + kFragment - 1) / kFragment; }
  constexpr std::uint32_t fragments() const { return (rows + kFragment - 1) / kFragment * fragment_columns(); }
  constexpr std::uint32_t fragments_of_simdgroup() const { return (fragments() + simdgroups() - 1) / simdgroups(); }
  constexpr std::uint32_t capacity() const { return alone() ? rows * columns : fragments_of_simdgroup() * kSlots; }

  struct Coordinate {
    std::uint32_t column;
    std::uint32_t row;
  };
  // Within a fragment.
  static constexpr Coordinate in_fragment(std::uint32_t lane, std::uint32_t slot) {
    return {.column = ((lane >> 2 & 2) | (lane & 1)) * 4 + slot % 4,
            .row = ((lane >> 2 & 4) | (lane >> 1 & 3)) + slot / 4 * 8};
  }
  // Of an element of that lane, in the simdgroup that is so many-th of the scope. Beyond the matrix for some elements
  // where it is not made of whole fragments.
  constexpr Coordinate at(std::uint32_t simdgroup, std::uint32_t lane, std::uint32_t slot) const {
    if (alone()) return {.column = slot % columns, .row = slot / columns};
    const std::uint32_t fragment = simdgroup * fragments_of_simdgroup() + slot / kSlots;
    const Coordinate within = in_fragment(lane, slot % kSlots);
    return {.column = fragment % fragment_columns() * kFragment + within.column,
            .row = fragment / fragment_columns() * kFragment + within.row};
  }
};

}  // namespace anymps::metal::abi
