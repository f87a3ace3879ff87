// Runs the threads of one threadgroup as coroutines, and brings them together at cooperative operations.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "metal/abi/cooperative_op.h"

namespace anymps::metal::runtime {

// The head of a coroutine's frame, as LLVM lays it out.
struct Coroutine {
  void (*resume)(Coroutine*);
  void (*destroy)(Coroutine*);
};

// Generated: makes the coroutines of all threads of threadgroup (x, y, z) and runs each to where it first waits.
// `frames` points to where the next frame may lie, and is moved on.
using Spawn = void (*)(void* const* bindings, const abi::Geometry* geometry, std::uint32_t x, std::uint32_t y,
                       std::uint32_t z, Coroutine** threads, abi::Simdgroup* simdgroups, std::byte** frames,
                       std::byte* threadgroup_memory);

// Is told what threads of a threadgroup do together.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Those lanes of a simdgroup have met, and go on.
  virtual void met(std::uint32_t simdgroup, std::uint32_t mask) = 0;
  // Threadgroup barriers open, at which all threads wait that have not ended.
  virtual void opens(std::span<const abi::Simdgroup> simdgroups, std::uint32_t threads) = 0;
};

// The same where a coroutine is many lanes. `waits` has a word for each of them, and the last of `coroutines` is null.
using SpawnLanes = void (*)(void* const* bindings, const abi::Geometry* geometry, std::uint32_t x, std::uint32_t y,
                            std::uint32_t z, Coroutine** coroutines, std::uint32_t* waits, std::byte** frames,
                            std::byte* threadgroup_memory);

// Where a coroutine is many lanes: threads that wait can only do so at threadgroup barriers.
void run_lanes(SpawnLanes spawn, void* const* bindings, const abi::Geometry& geometry,
               std::array<std::uint32_t, 3> group, std::byte* threadgroup_memory);

// Lanes of a simdgroup that wait at the same point are its active set. Where lanes wait at different ones, the earliest
// in the program goes first, so that lanes that diverged come together again. A threadgroup barrier opens once no
// thread of the threadgroup can move otherwise.
void run_threadgroup(Spawn spawn, std::span<const abi::CooperativeCall> points, void* const* bindings,
                     const abi::Geometry& geometry, std::array<std::uint32_t, 3> group, std::byte* threadgroup_memory,
                     Watcher* watcher = nullptr);

}  // namespace anymps::metal::runtime
