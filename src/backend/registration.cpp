// Which operator has which kernel: those written for the device first, and the alias kernel for what coverage lists
// beyond them.
#include "backend/registration.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <string>

#include "backend/aoti/aoti_runner.h"
#include "backend/dispatch/alias_kernel.h"
#include "backend/dispatch/coverage.h"
#include "backend/dispatch/registration.h"
#include "backend/observe/details.h"
#include "backend/observe/profiler_track.h"
#include "backend/ops/registration.h"
#include "backend/runtime/cuda_stand_in.h"
#include "backend/runtime/memory.h"

namespace anymps::backend {
namespace {

torch::Library& library_for(c10::DispatchKey key) {
  static auto* const mps = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__, __LINE__);
  static auto* const sparse =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparseMPS, __FILE__, __LINE__);
  static auto* const compressed =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::SparseCsrMPS, __FILE__, __LINE__);
  switch (key) {
    case c10::DispatchKey::SparseMPS:
      return *sparse;
    case c10::DispatchKey::SparseCsrMPS:
      return *compressed;
    default:
      return *mps;
  }
}

void register_covered_operators() {
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const dispatch::CoveredOperator& covered : dispatch::covered_operators()) {
    const std::string name = covered.name;
    const std::size_t dot = name.find('.');
    const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    const auto op = dispatcher.findSchema({"aten::" + name.substr(0, dot), overload});
    // A wheel may lack operators that the yaml lists for other builds.
    if (!op || op->hasKernelForDispatchKey(covered.key)) continue;
    const dispatch::AliasTarget target =
        covered.key == c10::DispatchKey::MPS ? dispatch::AliasTarget::kCpuKernel : dispatch::AliasTarget::kDispatcher;
    library_for(covered.key).impl(covered.name, dispatch::alias_function(target, covered.check));
  }
}

}  // namespace

void register_device() {
  static std::once_flag once;
  std::call_once(once, [] {
    runtime::install_memory();
    observe::observe_routes();
    register_executor();
    register_guard();
    observe::register_profiler_track();
    runtime::stand_in_for_cuda();
    register_hooks();
    aoti::register_aoti_runner();
    static auto* const any = new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::MPS, __FILE__, __LINE__);
    dispatch::register_fallback(*any);
    torch::Library& mps = library_for(c10::DispatchKey::MPS);
    dispatch::register_permanent_fallbacks(mps);
    ops::register_factories(mps);
    ops::register_copy(mps);
    dispatch::register_hot(mps);
    ops::register_recurrent(mps);
    ops::register_views(mps);
    ops::register_linear(mps);
    ops::register_pooling(mps);
    ops::register_convolution(mps);
    ops::register_attention(mps);
    static auto* const autograd =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMPS, __FILE__, __LINE__);
    ops::register_composite_attention(*autograd);
    ops::register_composite_recurrent(*autograd);
    ops::register_rms_norm(mps);
    ops::register_rms_norm(*autograd);
    dispatch::register_svd(mps);
    dispatch::register_svd(*autograd);
    ops::register_distance(mps);
    ops::register_bincount(mps);
    ops::register_complex_math(mps);
    ops::register_ldexp(mps);
    ops::register_quantized(mps);
    ops::register_random(mps);
    ops::register_sampling(mps);
    ops::register_deferred_errors(mps);
    ops::register_record_stream(mps);
    register_covered_operators();
    dispatch::register_other_release(mps);
  });
}

namespace {

// Loading the library is all that a C++ program has to do.
struct AtLoad {
  AtLoad() { register_device(); }
};
const AtLoad kAtLoad;

}  // namespace
}  // namespace anymps::backend
