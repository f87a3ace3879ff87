#include "backend/dispatch/refusal.h"

#include <c10/util/Exception.h>

#include <optional>
#include <string>

#include "backend/observe/check.h"
#include "backend/release/torch_release.h"
#include "backend/runtime/call_site.h"
#include "backend/runtime/memory.h"
#include "gpu/device.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::dispatch {
namespace {

constexpr std::size_t kMaxDimensions = 16;

}  // namespace

void refuse_missing_device() {
  static const std::optional<std::string> problem = gpu::device_problem();
  TORCH_CHECK(!problem, *problem);
  TORCH_CHECK(gpu::device_facts().macos_major >= ANYMPS_OLDEST_MACOS, "The MPS backend is supported on macOS ",
              ANYMPS_OLDEST_MACOS, ".0+. Current OS version can be queried using `sw_vers`");
}

void refuse_float64(c10::ScalarType dtype) {
  if (dtype != c10::kDouble && dtype != c10::kComplexDouble) return;
  if (auto* trace = gpu::trace::Trace::current();
      trace != nullptr && !observe::is_expected("TypeError") && !observe::is_allowed("float64-refused")) {
    trace->record(gpu::trace::TraceKind::kFloat64, trace->intern(c10::toString(dtype)),
                  trace->intern(runtime::call_site()));
  }
  TORCH_CHECK_TYPE(false,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
                   "Please use float32 instead.");
}

void refuse_other_device(c10::Device other) {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ",
              runtime::kMpsDevice, " and ", other, "!");
}

void refuse_many_dimensions(c10::IntArrayRef sizes) {
  TORCH_CHECK(sizes.size() <= kMaxDimensions, "MPS supports tensors with dimensions <= ", kMaxDimensions, ", but got ",
              sizes.size(), ".");
}

}  // namespace anymps::backend::dispatch
