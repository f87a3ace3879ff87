// All of lowering, in order: from a module of AIR with one kernel to one for this CPU with a function "run".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metal/lower/dispatch.h"
#include "metal/lower/simd.h"
#include "metal/lower/specialise.h"
#include "metal/lower/validation.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace anymps::metal::lower {

enum class Route {
  kThreadLoop,
  kCoroutines,
  kSimdLoop,        // many lanes at once, called as a thread loop
  kSimdCoroutines,  // a coroutine a simdgroup
};

constexpr std::string_view name_of(Route route) {
  switch (route) {
    case Route::kThreadLoop:
      return "thread loop";
    case Route::kCoroutines:
      return "coroutines";
    case Route::kSimdLoop:
      return "simd loop";
    case Route::kSimdCoroutines:
      return "simd coroutines";
  }
  return "";
}

constexpr bool is_simd(Route route) { return route == Route::kSimdLoop || route == Route::kSimdCoroutines; }
constexpr bool is_of_coroutines(Route route) { return route == Route::kCoroutines || route == Route::kSimdCoroutines; }

struct Lowered {
  std::string refusal;  // why it cannot be run; empty where it can
  Route route = Route::kThreadLoop;
  bool meets = false;    // its threads meet
  std::string declined;  // why it is not run many lanes at once, where that was asked for
  // It is wanted soon and has no loops, so that little is lost if nobody optimises it; here nobody has.
  bool left_plain = false;
  ThreadgroupLayout threadgroup;
  std::vector<engine::MeetingPoint> points;
  ValidationTable validation;
};

struct LoweringOptions {
  ConstantValues constants = {};
  KnownBytes known = {};                      // of buffers that are only read
  bool force_coroutines = false;              // to compare the routes
  bool validate = false;                      // with the sanitiser's calls; as coroutines
  Simdgroups simdgroups = Simdgroups::kNone;  // many lanes at once, if it can be
  bool soon = false;  // in half the time or less, and slower: loops neither vectorised nor unrolled
  // The CPU will be told so too: this is for what it does not compute by its own instructions.
  bool denormals_are_zero = false;
};

// `parameters` describes the parameters of the function `kernel`, in order. The module is optimised for `target`.
Lowered lower_kernel(llvm::Module& module, const std::string& kernel, const std::vector<Parameter>& parameters,
                     const LoweringOptions& options, llvm::TargetMachine& target);

}  // namespace anymps::metal::lower
