#include "backend/refusal.h"

#include <c10/util/Exception.h>

#include "backend/call_site.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

constexpr std::size_t kMaxDimensions = 16;

}  // namespace

void refuse_float64(c10::ScalarType dtype) {
  if (dtype != c10::kDouble && dtype != c10::kComplexDouble) return;
  if (auto* trace = gpu::Trace::current()) {
    trace->record(gpu::TraceKind::kFloat64, trace->intern(c10::toString(dtype)), trace->intern(call_site()));
  }
  TORCH_CHECK_TYPE(false,
                   "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
                   "Please use float32 instead.");
}

void refuse_many_dimensions(c10::IntArrayRef sizes) {
  TORCH_CHECK(sizes.size() <= kMaxDimensions, "MPS supports tensors with dimensions <= ", kMaxDimensions, ", but got ",
              sizes.size(), ".");
}

}  // namespace anymps::backend
