// Many lanes at once: a kernel becomes a program of vectors, whole functions with branches and loops. This is the list
// of its passes, in order; the oracle takes what one of them declines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/workgroup/coroutines.h"
#include "metal/lower/workgroup/work_item_loop.h"

namespace llvm {
class TargetMachine;
}

namespace anymps::metal::lower::support {
class PassRunner;
}

namespace anymps::metal::lower::vectorize {

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
enum class VectorizedRun : std::uint8_t {
  kDirect,      // as make_work_item_loop()'s: threads that wait for others, if at all, within their simdgroup
  kCoroutines,  // runtime::Spawn, for a coroutine a simdgroup
};

// As make_work_item_loop() and make_coroutines(): writes "run". Where it declines, it returns the reason and leaves the
// kernel as it was.
std::string vectorize_kernel(llvm::Module& module, llvm::Function* kernel,
                             std::span<const support::Parameter> parameters, Simdgroups simdgroups,
                             const llvm::TargetMachine& target, support::PassRunner& runner, VectorizedRun& run);

}  // namespace anymps::metal::lower::vectorize
