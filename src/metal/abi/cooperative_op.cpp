#include "metal/engine/meeting.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "gpu/float16.h"

namespace anymps::metal::engine {
namespace {

// Numbers of which the CPU has no arithmetic are combined as float.
struct Half {
  using Wide = float;
  std::uint16_t bits;
  static float widen(Half h) { return static_cast<float>(std::bit_cast<gpu::float16>(h.bits)); }
  static Half narrow(float f) { return {std::bit_cast<std::uint16_t>(static_cast<gpu::float16>(f))}; }
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
T identity(Meeting meeting) {
  using Limits = std::numeric_limits<T>;
  switch (meeting) {
    case Meeting::kProduct:
      return T(1);
    case Meeting::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case Meeting::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case Meeting::kAnd:
      return static_cast<T>(~std::uint64_t{0});
    default:
      return T(0);
  }
}

template <typename T>
T combine(Meeting meeting, T a, T b) {
  // Whole numbers wrap on a GPU, those with a sign too.
  using Number = std::conditional_t<std::numeric_limits<T>::is_integer, std::uint64_t, T>;
  switch (meeting) {
    case Meeting::kSum:
      return static_cast<T>(static_cast<Number>(a) + static_cast<Number>(b));
    case Meeting::kProduct:
      return static_cast<T>(static_cast<Number>(a) * static_cast<Number>(b));
    case Meeting::kMin:
      return b < a ? b : a;
    case Meeting::kMax:
      return a < b ? b : a;
    default:
      break;
  }
  if constexpr (std::numeric_limits<T>::is_integer) {
    if (meeting == Meeting::kAnd) return static_cast<T>(a & b);
    if (meeting == Meeting::kOr) return static_cast<T>(a | b);
    if (meeting == Meeting::kXor) return static_cast<T>(a ^ b);
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
void reduce(const MeetingPoint& point, Simdgroup& simdgroup, std::uint32_t mask) {
  using Wide = typename N::Wide;
  const auto given = given_by_lanes<N>(simdgroup);
  std::array<N, kLanes> result;
  for (unsigned base = 0; base < kLanes; base += point.width) {
    std::array<Wide, kLanes> values;
    for (unsigned i = 0; i < point.width; ++i) {
      const bool active = ((mask >> (base + i)) & 1) != 0;
      values[i] = active ? N::widen(given[base + i]) : identity<Wide>(point.meeting);
    }
    for (unsigned half = point.width / 2; half != 0; half /= 2) {
      for (unsigned i = 0; i < half; ++i) values[i] = combine(point.meeting, values[i], values[i + half]);
    }
    for (unsigned i = 0; i < point.width; ++i) result[base + i] = N::narrow(values[0]);
  }
  std::memcpy(simdgroup.result, result.data(), sizeof result);
}

template <typename N>
void scan(const MeetingPoint& point, Simdgroup& simdgroup, std::uint32_t mask) {
  using Wide = typename N::Wide;
  const auto given = given_by_lanes<N>(simdgroup);
  std::array<N, kLanes> result;
  for (unsigned base = 0; base < kLanes; base += point.width) {
    Wide sum = identity<Wide>(point.meeting);
    for (unsigned i = base; i < base + point.width; ++i) {
      if (point.form == Form::kExclusive) result[i] = N::narrow(sum);
      if (((mask >> i) & 1) != 0) sum = combine(point.meeting, sum, N::widen(given[i]));
      if (point.form == Form::kInclusive) result[i] = N::narrow(sum);
    }
  }
  std::memcpy(simdgroup.result, result.data(), sizeof result);
}

template <typename N>
void arithmetic(const MeetingPoint& point, Simdgroup& simdgroup, std::uint32_t mask) {
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

void exchange(const MeetingPoint& point, Simdgroup& simdgroup, std::uint32_t mask) {
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

constexpr std::pair<std::string_view, Meeting> kOperations[] = {
    {"sum", Meeting::kSum}, {"product", Meeting::kProduct}, {"min", Meeting::kMin}, {"max", Meeting::kMax},
    {"and", Meeting::kAnd}, {"or", Meeting::kOr},           {"xor", Meeting::kXor}};

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<MeetingPoint> arithmetic_meeting(std::string_view operation, std::string_view type) {
  MeetingPoint point;
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
      point.meeting = meeting;
      return point;
    }
  }
  return std::nullopt;
}

void meet(const MeetingPoint& point, Simdgroup& simdgroup, std::uint32_t mask) {
  switch (point.meeting) {
    case Meeting::kThreadgroupBarrier:
    case Meeting::kSimdgroupBarrier:
      return;
    case Meeting::kExchange:
      exchange(point, simdgroup, mask);
      return;
    case Meeting::kVote:
      vote(simdgroup, mask);
      return;
    case Meeting::kMatrixProduct:
      multiply(simdgroup);
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

}  // namespace anymps::metal::engine
