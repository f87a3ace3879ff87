// Bytes between the device and the rest: copy_, and reading one value.
#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "backend/dispatch/alias.h"
#include "backend/dispatch/call_key.h"
#include "backend/dispatch/queued_call.h"
#include "backend/dispatch/queued_function.h"
#include "backend/observe/check.h"
#include "backend/observe/check_copies.h"
#include "backend/observe/profile_log.h"
#include "backend/observe/synchronize.h"
#include "backend/ops/registration.h"
#include "backend/release/torch_release.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/waits.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::ops {
namespace {

// PyTorch's Metal kernels know one of the floating types of eight bits, or none.
bool has_metal_name(at::ScalarType type) {
#if ANYMPS_DEVICE_HAS_FLOAT8
  if (type == at::kFloat8_e4m3fn) return true;
#endif
  return !c10::isFloat8Type(type);
}

// A Mac converts on the device by a Metal kernel for each pair of types.
void check_conversion(const at::Tensor& self, const at::Tensor& source) {
  if (self.scalar_type() == source.scalar_type() || !self.is_mps() || !source.is_mps()) return;
  for (const at::ScalarType type : {self.scalar_type(), source.scalar_type()}) {
    TORCH_CHECK(has_metal_name(type), "Undefined type ", type);
  }
}

// A copy between the device and the host for which the program does not wait goes into the queue. It uses the host's
// memory when it runs, and holds it until then. What the host must convert or lay out anew it reads at the call, as
// PyTorch does (Copy.mm, copy_to_mps_).
bool queue_copy_across(const at::Tensor& self, const at::Tensor& source) {
  if (self.is_mps() == source.is_mps() || !runtime::DeviceQueue::takes_operators()) return false;
  if (self.layout() != at::kStrided || source.layout() != at::kStrided || self.strides() != source.strides() ||
      self.scalar_type() != source.scalar_type() || !source.is_non_overlapping_and_dense()) {
    return false;
  }
  const auto on_host = [](dispatch::QueuedCall& call, const at::Tensor& tensor) {
    return tensor.is_mps() ? call.alias(tensor) : tensor;
  };
  auto call = std::make_unique<dispatch::QueuedCall>();
  const at::Tensor target = on_host(*call, self);
  const at::Tensor from = on_host(*call, source);
  dispatch::QueuedCall::encode(std::move(call), [target, from] {
    target.copy_(from);
    return dispatch::QueuedCall::Results{};
  });
  return true;
}

// A copy within the device goes into the queue, unless the CPU's kernel has something to say of it.
bool queue_copy_on_device(const at::Tensor& self, const at::Tensor& source) {
  if (!self.is_mps() || !source.is_mps() || !runtime::DeviceQueue::takes_operators()) return false;
  dispatch::CallKey key;
  if (!key.read(self, source) || (source.is_complex() && !self.is_complex())) return false;
  if (!at::is_expandable_to(source.sizes(), self.sizes()) || at::has_internal_overlap(self) == at::MemOverlap::Yes ||
      at::get_overlap_status(self, source) == at::MemOverlapStatus::Partial) {
    return false;
  }
  static auto& known = dispatch::KnownResults::kept_for_good();
  const dispatch::KnownCall* kind = known.find(key.bytes());
  if (kind == nullptr) kind = known.learn(key.bytes(), {}, {});
  const auto copy = [](const at::Tensor& target, const at::Tensor& from) { target.copy_(from); };
  dispatch::queue_in_turn(
      kind != nullptr ? dispatch::QueuedCall::of_kind(*kind) : std::make_unique<dispatch::QueuedCall>(), copy, self,
      source);
  return true;
}

at::Tensor& copy_into(at::Tensor& self, const at::Tensor& source, bool non_blocking) {
  if (self.is_same(source)) return self;
  check_conversion(self, source);
  if (queue_copy_on_device(self, source) || (non_blocking && queue_copy_across(self, source))) return self;
  // To the host the copy waits for the device, unless the caller said that it will.
  if (!self.is_mps() && !non_blocking) observe::synchronize("copy to cpu");
  const std::uint64_t began = observe::profile_logging() ? gpu::trace::Trace::now_ns() : 0;
  {
    dispatch::AliasCall alias;
    at::Tensor target = alias.to_cpu(self);
    const at::Tensor from = alias.to_cpu(source);
    runtime::RouteScope route;
    c10::impl::ExcludeDispatchKeyGuard no_cpu_autocast(c10::DispatchKey::AutocastCPU);
    target.copy_(from);
  }
  if (!self.is_mps() && !non_blocking) runtime::DeviceWork::done();
  if (began != 0) observe::profile_copy(self, source, non_blocking, gpu::trace::Trace::now_ns() - began);
  if (observe::checking()) observe::check_copy(self, source, non_blocking);
  return self;
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool non_blocking) {
  at::Tensor destination = target;
  copy_into(destination, self, non_blocking);
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& target) {
  at::Tensor destination = target;
  destination.resize_(self.sizes());
  copy_into(destination, self, /*non_blocking=*/false);
  return target;
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  observe::synchronize("item");
  dispatch::AliasCall alias;
  return at::_local_scalar_dense(alias.to_cpu(self));
}

}  // namespace

void register_copy(torch::Library& m) {
  m.impl("copy_", copy_into);
  m.impl("_copy_from", copy_from);
  m.impl("_copy_from_and_resize", copy_from_and_resize);
  m.impl("_local_scalar_dense", local_scalar_dense);
}

}  // namespace anymps::backend::ops
