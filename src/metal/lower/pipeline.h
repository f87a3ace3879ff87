// All of lowering, in order: from a module of AIR with one kernel to one for this CPU with a function "run".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "metal/abi/constant_values.h"
#include "metal/abi/route.h"
#include "metal/lower/support/kernel_parameter.h"
#include "metal/lower/support/pass_instrumentation.h"
#include "metal/lower/transform/propagate_arguments.h"
#include "metal/lower/transform/sanitiser.h"
#include "metal/lower/transform/threadgroup_variables.h"
#include "metal/lower/vectorize/vectorizer.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace anymps::metal::lower {

struct Lowered {
  std::string refusal;  // why it cannot be run; empty where it can
  abi::Route route = abi::Route::kThreadLoop;
  bool cooperative = false;    // its threads wait for one another
  std::string not_vectorized;  // why it is not run many lanes at once, where that was asked for
  // It is wanted soon and has no loops, so that little is lost if nobody optimises it; here nobody has.
  bool left_plain = false;
  transform::ThreadgroupLayout threadgroup;
  std::vector<abi::CooperativeCall> points;
  transform::ValidationTable validation;
};

struct LoweringOptions {
  abi::ConstantValues constants = {};
  transform::ArgumentValues known = {};                             // of buffers that are only read
  bool force_coroutines = false;                                    // to compare the routes
  bool validate = false;                                            // with the sanitiser's calls; as coroutines
  vectorize::Simdgroups simdgroups = vectorize::Simdgroups::kNone;  // many lanes at once, if it can be
  bool soon = false;  // in half the time or less, and slower: loops neither vectorised nor unrolled
  // The CPU will be told so too: this is for what it does not compute by its own instructions.
  bool denormals_are_zero = false;
};

// `parameters` describes the parameters of the function `kernel`, in order. The module is optimised for `target`.
// `instrumentation`, where there is one, is told of each pass, and may stop lowering by LoweringStopped.
Lowered lower_kernel(llvm::Module& module, const std::string& kernel, const std::vector<support::Parameter>& parameters,
                     const LoweringOptions& options, llvm::TargetMachine& target,
                     support::PassInstrumentation* instrumentation = nullptr);

}  // namespace anymps::metal::lower
