#include "backend/dispatch/other_release.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "backend/dispatch/alias_kernel.h"
#include "backend/dispatch/registration.h"
#include "backend/release/release_in_force.h"
#include "gpu/history/operator_history.h"
#include "gpu/history/release_number.h"

namespace anymps::backend::dispatch {
namespace {

using gpu::history::OperatorRoute;

// PyTorch warns where a kernel takes another's place, which is what is wanted here.
class Silence : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {}
};

// One that was written for the device, for the sake of the other release.
bool has_kernel(const std::string& name) {
  const std::size_t dot = name.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {"aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
  return op && op->hasKernelForDispatchKey(c10::DispatchKey::MPS);
}

}  // namespace

std::string_view quoted_commit() {
  const auto release = release::simulated_release();
  return release ? gpu::history::torch_releases()[*release].commit : std::string_view(ANYMPS_TORCH_COMMIT);
}

unsigned minor_in_force() {
  const auto [major, minor, patch] = gpu::history::release_number(release::release_in_force());
  return 100 * major + minor;
}

OperatorRoute route_in_force(std::string_view name) {
  const auto simulated = release::simulated_release();
  const auto release = simulated ? simulated : gpu::history::installed_release(ANYMPS_TORCH_VERSION);
  const gpu::history::OperatorHistory* history = gpu::history::operator_history(name);
  return release && history != nullptr ? history->in(*release) : OperatorRoute::kUnknown;
}

void register_other_release(torch::Library& m) {
  const auto release = release::simulated_release();
  const auto own = gpu::history::installed_release(ANYMPS_TORCH_VERSION);
  if (!release || !own) return;
  Silence silence;
  const c10::WarningUtils::WarningHandlerGuard guard(&silence);
  for (const gpu::history::OperatorHistory& history : gpu::history::operator_histories()) {
    const OperatorRoute now = history.in(*own);
    const OperatorRoute then = history.in(*release);
    const std::string name(history.name);
    // What is not there at all is left as it is: PyTorch's functions here are made of operators that have other names
    // there.
    if (now == OperatorRoute::kKernel && then == OperatorRoute::kFallback) {
      register_permanent_fallback(m, name.c_str());
    } else if (now == OperatorRoute::kKernel && then == OperatorRoute::kRefused) {
      register_missing(m, name.c_str());
    } else if (now == OperatorRoute::kRefused && then == OperatorRoute::kKernel && !has_kernel(name)) {
      m.impl(name.c_str(), alias_function(AliasTarget::kCpuKernel, DeviceCheck::kPlaceholder));
    }
  }
}

}  // namespace anymps::backend::dispatch
