#include "metal/abi/cooperative_op.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpu/support/float16.h"
#include "metal/abi/tensor_operation.h"

namespace anymps::metal::abi {
namespace {

// Numbers of which the CPU has no arithmetic are combined as float.
struct Half {
  using Wide = float;
  std::uint16_t bits;
  static float widen(Half h) { return static_cast<float>(std::bit_cast<gpu::support::float16>(h.bits)); }
  static Half narrow(float f) { return {std::bit_cast<std::uint16_t>(static_cast<gpu::support::float16>(f))}; }
};
struct Bfloat {
  using Wide = float;
  std::uint16_t bits;
  static float widen(Bfloat b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b.bits) << 16); }
  static Bfloat narrow(float f) {
    const auto bits = std::bit_cast<std::uint32_t>(f);
    if (f != f) return {static_cast<std::uint16_t>((bits >> 16) | 0x40)};
    return {static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};  // to nearest, ties to even
  }
};
template <typename T>
struct Plain {
  using Wide = T;
  T value;
  static T widen(Plain p) { return p.value; }
  static Plain narrow(T t) { return {t}; }
};

template <typename T>
T identity(CooperativeOp meeting) {
  using Limits = std::numeric_limits<T>;
  switch (meeting) {
    case CooperativeOp::kProduct:
      return T(1);
    case CooperativeOp::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case CooperativeOp::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case CooperativeOp::kAnd:
      return static_cast<T>(~std::uint64_t{0});
    default:
      return T(0);
  }
}

template <typename T>
T combine(CooperativeOp meeting, T a, T b) {
  // Whole numbers wrap on a GPU, those with a sign too.
  using Number = std::conditional_t<std::numeric_limits<T>::is_integer, std::uint64_t, T>;
  switch (meeting) {
    case CooperativeOp::kSum:
      return static_cast<T>(static_cast<Number>(a) + static_cast<Number>(b));
    case CooperativeOp::kProduct:
      return static_cast<T>(static_cast<Number>(a) * static_cast<Number>(b));
    case CooperativeOp::kMin:
      return b < a ? b : a;
    case CooperativeOp::kMax:
      return a < b ? b : a;
    default:
      break;
  }
  if constexpr (std::numeric_limits<T>::is_integer) {
    if (meeting == CooperativeOp::kAnd) return static_cast<T>(a & b);
    if (meeting == CooperativeOp::kOr) return static_cast<T>(a | b);
    if (meeting == CooperativeOp::kXor) return static_cast<T>(a ^ b);
  }
  return a;
}

// What lanes gave; of those that are somewhere else, anything.
template <typename T>
std::array<T, kLanes> given_by_lanes(const Simdgroup& simdgroup) {
  static_assert(sizeof(T) <= kMostGiven);
  std::array<T, kLanes> values;
  for (unsigned lane = 0; lane < kLanes; ++lane) std::memcpy(&values[lane], simdgroup.given[lane], sizeof(T));
  return values;
}

// Halves are folded onto each other, as a tree: the order of a sum that is not exact is part of its result.
template <typename N>
void reduce(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask) {
  using Wide = typename N::Wide;
  const auto given = given_by_lanes<N>(simdgroup);
  std::array<N, kLanes> result;
  for (unsigned base = 0; base < kLanes; base += point.width) {
    std::array<Wide, kLanes> values;
    for (unsigned i = 0; i < point.width; ++i) {
      const bool active = ((mask >> (base + i)) & 1) != 0;
      values[i] = active ? N::widen(given[base + i]) : identity<Wide>(point.op);
    }
    for (unsigned half = point.width / 2; half != 0; half /= 2) {
      for (unsigned i = 0; i < half; ++i) values[i] = combine(point.op, values[i], values[i + half]);
    }
    for (unsigned i = 0; i < point.width; ++i) result[base + i] = N::narrow(values[0]);
  }
  std::memcpy(simdgroup.result, result.data(), sizeof result);
}

template <typename N>
void scan(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask) {
  using Wide = typename N::Wide;
  const auto given = given_by_lanes<N>(simdgroup);
  std::array<N, kLanes> result;
  for (unsigned base = 0; base < kLanes; base += point.width) {
    Wide sum = identity<Wide>(point.op);
    for (unsigned i = base; i < base + point.width; ++i) {
      if (point.form == Form::kExclusive) result[i] = N::narrow(sum);
      if (((mask >> i) & 1) != 0) sum = combine(point.op, sum, N::widen(given[i]));
      if (point.form == Form::kInclusive) result[i] = N::narrow(sum);
    }
  }
  std::memcpy(simdgroup.result, result.data(), sizeof result);
}

template <typename N>
void arithmetic(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask) {
  if (point.form == Form::kReduce) {
    reduce<N>(point, simdgroup, mask);
  } else {
    scan<N>(point, simdgroup, mask);
  }
}

// Metal leaves open what a lane reads of one that is not there. On Apple's GPUs it is zero, and PyTorch's sums of long
// over a few lanes are right because of that.
template <std::size_t kBytes>
void exchange(Simdgroup& simdgroup, std::uint32_t mask) {
  auto given = given_by_lanes<std::array<std::byte, kBytes>>(simdgroup);
  for (std::uint32_t absent = ~mask; absent != 0; absent &= absent - 1)
    given[static_cast<unsigned>(std::countr_zero(absent))] = {};
  std::memcpy(simdgroup.result, given.data(), sizeof given);
}

void exchange(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask) {
  switch (point.bytes) {
    case 1:
      return exchange<1>(simdgroup, mask);
    case 2:
      return exchange<2>(simdgroup, mask);
    case 4:
      return exchange<4>(simdgroup, mask);
    case 8:
      return exchange<8>(simdgroup, mask);
    case 16:
      return exchange<16>(simdgroup, mask);
    default:
      return exchange<kMostGiven>(simdgroup, mask);
  }
}

// A lane owns two neighbours of a row of an 8x8 matrix.
constexpr unsigned row_of(unsigned lane) { return ((lane >> 2) & 4) + ((lane >> 1) & 3); }
constexpr unsigned column_of(unsigned lane) { return ((lane >> 2) & 2) * 2 + (lane & 1) * 2; }

// Given: two elements of the left factor, of the right one and of what is added, as float; the last two of eight are
// not used. Result: two of the sum, to which products are added along a row, each without rounding before.
#if defined(__x86_64__)
__attribute__((target_clones("fma", "default")))
#endif
void multiply(Simdgroup& simdgroup) {
  constexpr unsigned kSize = 8;
  const auto given = given_by_lanes<std::array<float, 8>>(simdgroup);
  float left[kSize][kSize];
  float right[kSize][kSize];
  float sum[kSize][kSize];
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < 2; ++i) {
      left[row_of(lane)][column_of(lane) + i] = given[lane][i];
      right[row_of(lane)][column_of(lane) + i] = given[lane][2 + i];
      sum[row_of(lane)][column_of(lane) + i] = given[lane][4 + i];
    }
  }
  for (unsigned k = 0; k < kSize; ++k) {
    for (unsigned r = 0; r < kSize; ++r) {
      for (unsigned c = 0; c < kSize; ++c) sum[r][c] = std::fma(left[r][k], right[k][c], sum[r][c]);
    }
  }
  std::array<std::array<float, 2>, kLanes> result;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    for (unsigned i = 0; i < 2; ++i) result[lane][i] = sum[row_of(lane)][column_of(lane) + i];
  }
  std::memcpy(simdgroup.result, result.data(), sizeof result);
}

void vote(Simdgroup& simdgroup, std::uint32_t mask) {
  const auto given = given_by_lanes<std::uint32_t>(simdgroup);
  Votes votes{.yes = 0, .active = mask};
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (given[lane] != 0) votes.yes |= mask & (std::uint32_t{1} << lane);
  }
  std::memcpy(simdgroup.result, &votes, sizeof votes);
}

struct ScalarName {
  std::string_view name;
  Scalar scalar;
  std::uint8_t bytes;
};
constexpr ScalarName kScalars[] = {{"s.i8", Scalar::kI8, 1},   {"u.i8", Scalar::kU8, 1},   {"s.i16", Scalar::kI16, 2},
                                   {"u.i16", Scalar::kU16, 2}, {"s.i32", Scalar::kI32, 4}, {"u.i32", Scalar::kU32, 4},
                                   {"s.i64", Scalar::kI64, 8}, {"u.i64", Scalar::kU64, 8}, {"f16", Scalar::kF16, 2},
                                   {"bf16", Scalar::kBf16, 2}, {"f32", Scalar::kF32, 4}};

constexpr std::pair<std::string_view, CooperativeOp> kOperations[] = {
    {"sum", CooperativeOp::kSum}, {"product", CooperativeOp::kProduct}, {"min", CooperativeOp::kMin},
    {"max", CooperativeOp::kMax}, {"and", CooperativeOp::kAnd},         {"or", CooperativeOp::kOr},
    {"xor", CooperativeOp::kXor}};

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<CooperativeCall> arithmetic_op(std::string_view operation, std::string_view type) {
  CooperativeCall point;
  if (consume(operation, "quad_")) {
    point.width = 4;
  } else if (!consume(operation, "simd_")) {
    return std::nullopt;
  }
  if (consume(operation, "prefix_inclusive_")) {
    point.form = Form::kInclusive;
  } else if (consume(operation, "prefix_exclusive_")) {
    point.form = Form::kExclusive;
  }
  for (const ScalarName& entry : kScalars) {
    if (entry.name == type) {
      point.scalar = entry.scalar;
      point.bytes = entry.bytes;
    }
  }
  if (point.scalar == Scalar::kNone) return std::nullopt;
  for (const auto& [name, meeting] : kOperations) {
    if (name == operation) {
      point.op = meeting;
      return point;
    }
  }
  return std::nullopt;
}

void perform(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask) {
  switch (point.op) {
    case CooperativeOp::kThreadgroupBarrier:
    case CooperativeOp::kSimdgroupBarrier:
      return;
    case CooperativeOp::kExchange:
      exchange(point, simdgroup, mask);
      return;
    case CooperativeOp::kVote:
      vote(simdgroup, mask);
      return;
    case CooperativeOp::kMatrixProduct:
      multiply(simdgroup);
      return;
    case CooperativeOp::kTensorOperation:
      perform_tensor_operation(simdgroup, mask);
      return;
    default:
      break;
  }
  switch (point.scalar) {
    case Scalar::kNone:
      return;
    case Scalar::kI8:
      return arithmetic<Plain<std::int8_t>>(point, simdgroup, mask);
    case Scalar::kU8:
      return arithmetic<Plain<std::uint8_t>>(point, simdgroup, mask);
    case Scalar::kI16:
      return arithmetic<Plain<std::int16_t>>(point, simdgroup, mask);
    case Scalar::kU16:
      return arithmetic<Plain<std::uint16_t>>(point, simdgroup, mask);
    case Scalar::kI32:
      return arithmetic<Plain<std::int32_t>>(point, simdgroup, mask);
    case Scalar::kU32:
      return arithmetic<Plain<std::uint32_t>>(point, simdgroup, mask);
    case Scalar::kI64:
      return arithmetic<Plain<std::int64_t>>(point, simdgroup, mask);
    case Scalar::kU64:
      return arithmetic<Plain<std::uint64_t>>(point, simdgroup, mask);
    case Scalar::kF16:
      return arithmetic<Half>(point, simdgroup, mask);
    case Scalar::kBf16:
      return arithmetic<Bfloat>(point, simdgroup, mask);
    case Scalar::kF32:
      return arithmetic<Plain<float>>(point, simdgroup, mask);
  }
}

}  // namespace anymps::metal::abi
