// Which operator has which kernel: those written for the device first, and the alias kernel for what coverage lists
// beyond them.
#include "backend/registration.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <mutex>
#include <string>

#include "backend/alias_kernel.h"
#include "backend/coverage.h"
#include "backend/cuda_stand_in.h"
#include "backend/memory.h"

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
  for (const CoveredOperator& covered : covered_operators()) {
    const std::string name = covered.name;
    const std::size_t dot = name.find('.');
    const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    const auto op = dispatcher.findSchema({"aten::" + name.substr(0, dot), overload});
    // A wheel may lack operators that the yaml lists for other builds.
    if (!op || op->hasKernelForDispatchKey(covered.key)) continue;
    const AliasTarget target =
        covered.key == c10::DispatchKey::MPS ? AliasTarget::kCpuKernel : AliasTarget::kDispatcher;
    library_for(covered.key).impl(covered.name, alias_function(target, covered.check));
  }
}

}  // namespace

void register_device() {
  static std::once_flag once;
  std::call_once(once, [] {
    install_memory();
    register_executor();
    register_guard();
    register_profiler_track();
    stand_in_for_cuda();
    register_hooks();
    register_aoti_runner();
    static auto* const any = new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::MPS, __FILE__, __LINE__);
    register_fallback(*any);
    torch::Library& mps = library_for(c10::DispatchKey::MPS);
    register_permanent_fallbacks(mps);
    register_factories(mps);
    register_copy(mps);
    register_hot(mps);
    register_recurrent(mps);
    register_views(mps);
    register_linear(mps);
    register_pooling(mps);
    register_convolution(mps);
    register_attention(mps);
    static auto* const autograd =
        new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMPS, __FILE__, __LINE__);
    register_composite_attention(*autograd);
    register_composite_recurrent(*autograd);
    register_rms_norm(mps);
    register_rms_norm(*autograd);
    register_svd(mps);
    register_svd(*autograd);
    register_distance(mps);
    register_bincount(mps);
    register_complex_math(mps);
    register_quantized(mps);
    register_random(mps);
    register_sampling(mps);
    register_deferred_errors(mps);
    register_covered_operators();
    register_other_release(mps);
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
