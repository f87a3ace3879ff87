#include "backend/dispatch/queued_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <exception>

#include "backend/dispatch/tensor_access.h"
#include "backend/runtime/call_site.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/placed_results.h"
#include "gpu/memory/unified_memory.h"

namespace anymps::backend::dispatch {
namespace {

gpu::memory::Heap& device_heap() { return gpu::memory::UnifiedMemory::instance().heap(); }

at::Tensor make_result(const ResultKind& kind) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), kind.bytes,
                                                         runtime::mps_allocator()->allocate(kind.bytes),
                                                         runtime::mps_allocator(), /*resizable=*/true)),
      c10::DispatchKeySet(c10::DispatchKey::MPS), c10::scalarTypeToTypeMeta(kind.dtype));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(kind.sizes, kind.strides);
  return result;
}

}  // namespace

HeldBlocks::~HeldBlocks() {
  for (void* block : blocks_) device_heap().let_go(block);
}

void HeldBlocks::hold(void* block) {
  if (block == nullptr) return;
  device_heap().hold(block);
  blocks_.push_back(block);
}

QueuedCall::QueuedCall(const ResultKinds& kinds) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    results_.emplace_back();
    if (kinds[i].argument != ResultKind::kNew) continue;
    results_.back() = make_result(kinds[i]);
    frame_.places.push_back({i, alias(results_.back())});
  }
}

void QueuedCall::keep_line() { frame_.line = runtime::call_site(); }

at::Tensor QueuedCall::alias(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  // One that Python made of a number is nobody else's; another may change before the call runs.
  if (!impl->is_mps()) return impl->is_wrapped_number() ? tensor : tensor.clone();
  for (const auto& [source, alias] : tensors_) {
    if (source == impl) return alias;
  }
  at::Tensor alias(ImplAccess::copy(*impl, storage_alias(*impl->unsafe_storage().unsafeGetStorageImpl()),
                                    cpu_keys(impl->key_set()), runtime::kCpuDevice));
  tensors_.emplace_back(impl, alias);
  return alias;
}

c10::Storage QueuedCall::storage_alias(c10::StorageImpl& source) {
  for (const auto& [known, alias] : storages_) {
    if (known == &source) return alias;
  }
  // data() rather than mutable_data(): looking must not break copy-on-write.
  void* data = const_cast<void*>(source.data());
  frame_.held.hold(data);
  bytes_ += source.nbytes();
  c10::Storage alias(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), source.nbytes(),
                                                           c10::DataPtr(data, runtime::kCpuDevice),
                                                           runtime::alias_allocator(), source.resizable()));
  storages_.emplace_back(&source, alias);
  return alias;
}

void QueuedCall::Frame::run(c10::function_ref<Results()> compute) {
  // Gradients were taken care of when the operator was called; autocast decided then.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const runtime::CallSiteScope called_at(line);
  const runtime::RouteScope route;
  runtime::PlacedResults placed;
  for (const Place& place : places) {
    if (place.alias.storage().nbytes() == 0) continue;
    placed.add(place.alias.storage().mutable_data(), place.alias.storage().nbytes());
  }
  try {
    move_into_place(compute());
  } catch (...) {
    for (const Place& place : places) place.alias.zero_();
    runtime::DeviceQueue::report(std::current_exception());
  }
}

// Kernels may have left results elsewhere, one in the place of another even.
void QueuedCall::Frame::move_into_place(const Results& results) const {
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> moves;
  for (const Place& place : places) {
    const at::Tensor& result = results[place.index];
    const bool there = result.is_same(place.alias) || (result.const_data_ptr() == place.alias.const_data_ptr() &&
                                                       result.strides() == place.alias.strides());
    if (!there) moves.emplace_back(place.alias, result);
  }
  if (moves.size() > 1) {
    for (auto& [target, result] : moves) result = result.clone();
  }
  for (const auto& [target, result] : moves) target.copy_(result);
}

}  // namespace anymps::backend::dispatch
