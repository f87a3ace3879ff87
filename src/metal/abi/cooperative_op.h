// Cooperative operations, which threads do together: barriers, exchanges within a simdgroup, reductions. The data that
// generated code and the scheduler share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace anymps::metal::abi {

inline constexpr unsigned kLanes = 32;
inline constexpr unsigned kMostThreads = 1024;  // of a threadgroup

// Mirrored by the generated code: nine 32-bit numbers.
struct Geometry {
  std::array<std::uint32_t, 3> grid;         // threads
  std::array<std::uint32_t, 3> threadgroup;  // threads in a full one
  std::array<std::uint32_t, 3> groups;       // threadgroups

  // Of the threadgroup with that number: they are counted along x first.
  std::array<std::uint32_t, 3> group_at(std::uint64_t number) const {
    return {static_cast<std::uint32_t>(number % groups[0]), static_cast<std::uint32_t>(number / groups[0] % groups[1]),
            static_cast<std::uint32_t>(number / groups[0] / groups[1])};
  }
};

// Bytes on both sides of a threadgroup's memory that may be touched, and are nobody's.
inline constexpr std::size_t kThreadgroupMargin = 512;

inline constexpr std::size_t kMostGiven = 32;  // bytes of what a lane gives

// One simdgroup. A thread that suspends leaves its operand in `given` and where it waits in `waits`; before it resumes,
// the scheduler fills `result`. Each lane gives in a place of its own, because lanes that diverged wait at the same
// time with operands of different sizes.
struct alignas(64) Simdgroup {
  std::uint32_t waits[kLanes];  // 0: finished; else 1 + the index of the cooperative call
  alignas(64) std::byte given[kLanes][kMostGiven];
  alignas(64) std::byte result[kLanes * kMostGiven];
};

// Where a coroutine is many lanes: what it waits for.
inline constexpr std::uint32_t kWaitsAtBarrier = 1;
inline constexpr std::uint32_t kTakesTurns = 2;  // until the others have come as far

// Lanes as bits.
struct Votes {
  std::uint64_t yes;
  std::uint64_t active;
};

enum class CooperativeOp : std::uint8_t {
  kThreadgroupBarrier,
  kSimdgroupBarrier,
  kExchange,  // every lane sees what every lane gave: shuffles, broadcasts
  kVote,      // of 32-bit truths: a Votes in the first bytes of the result
  kMatrixProduct,
  kSum,
  kProduct,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kTensorOperation,  // of what tensor_operation.h describes; nothing is taken
};
enum class Form : std::uint8_t { kReduce, kInclusive, kExclusive };
enum class Scalar : std::uint8_t { kNone, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64, kF16, kBf16, kF32 };

// Metal's mem_flags.
inline constexpr std::uint8_t kDeviceMemory = 1;
inline constexpr std::uint8_t kThreadgroupMemory = 2;
inline constexpr std::uint8_t kAllMemory = 0xFF;

// A place in a kernel where threads wait for one another.
struct CooperativeCall {
  CooperativeOp op = CooperativeOp::kThreadgroupBarrier;
  Form form = Form::kReduce;
  Scalar scalar = Scalar::kNone;
  std::uint8_t width = kLanes;  // 4 for quad operations
  std::uint8_t bytes = 0;       // of what a lane gives
  std::uint8_t memory = 0;      // of a threadgroup barrier: what it orders, Metal's mem_flags
};

// "simd_prefix_inclusive_sum" of "s.i32" and the like; nothing for what is not known.
std::optional<CooperativeCall> arithmetic_op(std::string_view operation, std::string_view type);

// Does the operation for the lanes of `mask`. Not for threadgroup barriers.
void perform(const CooperativeCall& point, Simdgroup& simdgroup, std::uint32_t mask);

}  // namespace anymps::metal::abi
