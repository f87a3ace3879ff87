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

// How the lanes of a simdgroup share out a matrix. Apple does not say it; kernels of MLX and PyTorch that place
// elements by themselves do, for the family of the GPU (PyTorch's MppAttention.h).
enum class FragmentOrder : std::uint8_t {
  // From family 10 on (M5): a lane holds four neighbours of a row, fragments lie one behind the other, and what is
  // shared
  // out of an operand is what is stored.
  kQuads,
  // Before: two neighbours and the two eight columns on; the upper halves of all fragments of a row come before the
  // lower
  // ones; of an operand that is stored transposed, the matrix that it stands for is shared out.
  kPairs,
};
// Of the simulated Mac.
FragmentOrder fragment_order();

// Which elements of a matrix a thread holds. A simdgroup has whole fragments of 16 by 16, of which a lane holds four
// elements of two rows. Several simdgroups share the fragments evenly, those of a row first, and each has its own one
// behind the other. A scope of one thread holds all by itself.
struct CooperativeLayout {
  std::uint32_t rows;  // as it is stored
  std::uint32_t columns;
  std::uint32_t threads;    // of the scope
  bool transposed = false;  // what is stored
  FragmentOrder order = fragment_order();

  static constexpr std::uint32_t kFragment = 16;
  static constexpr std::uint32_t kSlots = kFragment * kFragment / kLanes;  // of a fragment, for a lane
  static constexpr std::uint32_t kRun = kSlots / 2;                        // of a row of it

  constexpr bool alone() const { return threads < kLanes; }
  // Whether lanes share out the transposed of what is stored.
  constexpr bool turned() const { return transposed && order == FragmentOrder::kPairs && !alone(); }
  constexpr std::uint32_t simdgroups() const { return alone() ? 1 : threads / kLanes; }
  constexpr std::uint32_t fragment_rows() const { return fragments_in(turned() ? columns : rows); }
  constexpr std::uint32_t fragment_columns() const { return fragments_in(turned() ? rows : columns); }
  constexpr std::uint32_t fragments() const { return fragment_rows() * fragment_columns(); }
  constexpr std::uint32_t fragments_of_simdgroup() const { return (fragments() + simdgroups() - 1) / simdgroups(); }
  constexpr std::uint32_t capacity() const { return alone() ? rows * columns : fragments_of_simdgroup() * kSlots; }

  struct Coordinate {
    std::uint32_t column;
    std::uint32_t row;
  };
  // Within a fragment, of what is shared out.
  constexpr Coordinate in_fragment(std::uint32_t lane, std::uint32_t slot) const {
    const std::uint32_t quad = (lane >> 2 & 2) | (lane & 1);
    const std::uint32_t i = slot % kRun;
    return {.column = order == FragmentOrder::kQuads ? quad * 4 + i : quad * 2 + i % 2 + i / 2 * (kFragment / 2),
            .row = ((lane >> 2 & 4) | (lane >> 1 & 3)) + slot / kRun * (kFragment / 2)};
  }
  // Where a lane has an element of its simdgroup's fragment of that number.
  constexpr std::uint32_t slot_of(std::uint32_t fragment, std::uint32_t slot_in_fragment) const {
    if (!has_halves_in_turn()) return fragment * kSlots + slot_in_fragment;
    const std::uint32_t half = fragment / fragment_columns() * 2 + slot_in_fragment / kRun;
    return (half * fragment_columns() + fragment % fragment_columns()) * kRun + slot_in_fragment % kRun;
  }
  // Of what is stored, for an element of that lane, in the simdgroup that is so many-th of the scope. Beyond the matrix
  // for some elements where it is not made of whole fragments.
  constexpr Coordinate at(std::uint32_t simdgroup, std::uint32_t lane, std::uint32_t slot) const {
    if (alone()) return {.column = slot % columns, .row = slot / columns};
    std::uint32_t fragment = simdgroup * fragments_of_simdgroup() + slot / kSlots;
    std::uint32_t slot_in_fragment = slot % kSlots;
    if (has_halves_in_turn()) {
      const std::uint32_t half = slot / kRun / fragment_columns();
      fragment = half / 2 * fragment_columns() + slot / kRun % fragment_columns();
      slot_in_fragment = half % 2 * kRun + slot % kRun;
    }
    const Coordinate within = in_fragment(lane, slot_in_fragment);
    const std::uint32_t column = fragment % fragment_columns() * kFragment + within.column;
    const std::uint32_t row = fragment / fragment_columns() * kFragment + within.row;
    return turned() ? Coordinate{.column = row, .row = column} : Coordinate{.column = column, .row = row};
  }

 private:
  static constexpr std::uint32_t fragments_in(std::uint32_t extent) { return (extent + kFragment - 1) / kFragment; }
  constexpr bool has_halves_in_turn() const { return order == FragmentOrder::kPairs && simdgroups() == 1; }
};

}  // namespace anymps::metal::abi
