// Many lanes at once: a kernel becomes a program of vectors, whole functions with branches and loops. This is the list
// of its passes, in order; the oracle takes what one of them declines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "metal/lower/dispatch.h"

namespace llvm {
class TargetMachine;
}

namespace anymps::metal::lower {

class Optimiser;

// Lanes that run at once where rows of threads are short and threads exchange nothing.
inline constexpr unsigned kFewLanes = 8;

// What the launches are like that the code is for.
enum class Simdgroups : std::uint8_t {
  kNone,    // do not try
  kWhole,   // whole simdgroups, of threads that lie side by side along x
  kShort,   // as kFolded, but of rows of whole kFewLanes
  kFolded,  // whole simdgroups that go over more than one row of their threadgroup
  kAny,     // any threadgroups; the slowest
  // Threadgroups of one column, as Inductor's reductions have them: threads lie side by side along y.
  kColumn,     // of whole simdgroups
  kAnyColumn,  // as kAny
};
inline constexpr std::size_t kKindsOfSimdgroups = 7;

// How the code is to be called.
enum class SimdRun : std::uint8_t {
  kDirect,      // as make_thread_loop()'s: threads that meet, if at all, within their simdgroup
  kCoroutines,  // engine::Spawn, for a coroutine a simdgroup
};

// As make_thread_loop() and make_coroutines(): writes "run". Where it declines, it returns the reason and leaves the
// kernel as it was.
std::string make_simd(llvm::Module& module, llvm::Function* kernel, std::span<const Parameter> parameters,
                      Simdgroups simdgroups, const llvm::TargetMachine& target, Optimiser& optimiser, SimdRun& run);

}  // namespace anymps::metal::lower
