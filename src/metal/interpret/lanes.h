// What one instruction sees: the values of a simdgroup's thirty-two lanes, of which some are active.
//
// A value lies in its function's registers, a cell for each lane, as it would lie in memory; a constant is one cell for
// all. A vector of i1 has a byte for each element.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#include "metal/interpret/numbers.h"

namespace anymps::metal::interpret {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kQuad = 4;
using Mask = std::uint32_t;  // a bit for each lane

constexpr Mask bit_of(unsigned lane) { return Mask{1} << lane; }

struct Operand {
  Shape shape;
  const std::byte* constant = nullptr;
  std::uint32_t offset = 0;  // of lane 0's cell in the registers, where it is no constant
};

struct Lanes {
  std::byte* registers = nullptr;
  std::byte* own_memory = nullptr;  // what the lanes' variables live in
  Mask active = 0;
  unsigned simdgroup = 0;  // which of its threadgroup

  const std::byte* read(const Operand& operand, unsigned lane) const {
    if (operand.constant != nullptr) return operand.constant;
    return registers + operand.offset + std::size_t{lane} * operand.shape.bytes();
  }
  std::byte* write(const Operand& operand, unsigned lane) const {
    return registers + operand.offset + std::size_t{lane} * operand.shape.bytes();
  }

  std::uint64_t bits(const Operand& operand, unsigned lane, unsigned element = 0) const {
    return read_bits(read(operand, lane) + element * operand.shape.element_bytes, operand.shape.element_bytes);
  }
  std::int64_t sign_extended(const Operand& operand, unsigned lane, unsigned element = 0) const {
    return interpret::sign_extended(bits(operand, lane, element), operand.shape.bits);
  }
  double real(const Operand& operand, unsigned lane, unsigned element = 0) const {
    return read_real(operand.shape.kind, read(operand, lane) + element * operand.shape.element_bytes);
  }
  std::byte* pointer(const Operand& operand, unsigned lane) const {
    return reinterpret_cast<std::byte*>(bits(operand, lane));
  }

  void set_bits(const Operand& operand, unsigned lane, unsigned element, std::uint64_t value) const {
    if (operand.shape.bits < 64) value &= (std::uint64_t{1} << operand.shape.bits) - 1;
    write_bits(write(operand, lane) + element * operand.shape.element_bytes, operand.shape.element_bytes, value);
  }
  void set_real(const Operand& operand, unsigned lane, unsigned element, double value) const {
    write_real(operand.shape.kind, write(operand, lane) + element * operand.shape.element_bytes, value);
  }
  void copy(const Operand& to, unsigned lane, const std::byte* from) const {
    std::memcpy(write(to, lane), from, to.shape.bytes());
  }

  template <typename Body>
  void each(Body body) const {
    for (Mask rest = active; rest != 0; rest &= rest - 1) body(static_cast<unsigned>(std::countr_zero(rest)));
  }
  // body(lane, element) for all elements of a value.
  template <typename Body>
  void each_element(const Shape& shape, Body body) const {
    each([&](unsigned lane) {
      for (unsigned element = 0; element < shape.count; ++element) body(lane, element);
    });
  }
};

// An instruction, ready to be done for the active lanes.
using Step = std::function<void(const Lanes&)>;

}  // namespace anymps::metal::interpret
