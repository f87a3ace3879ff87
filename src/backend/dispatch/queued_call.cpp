#include "backend/dispatch/queued_call.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <exception>

#include "backend/dispatch/tensor_access.h"
#include "backend/runtime/call_site.h"
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

void HeldBlocks::let_go() {
  for (void* block : blocks_) device_heap().let_go(block);
  blocks_.clear();
}

void HeldBlocks::hold(void* block) {
  if (block == nullptr) return;
  device_heap().hold(block);
  blocks_.push_back(block);
}

std::atomic<std::size_t> SpareCalls::of_all_{0};

QueuedCall::~QueuedCall() {
  if (kind_ != nullptr) SpareCalls::of_all_.fetch_sub(1, std::memory_order_relaxed);
}

std::unique_ptr<QueuedCall> QueuedCall::of_kind(const KnownCall& kind) {
  std::unique_ptr<QueuedCall> call = kind.spares.take(kind);
  call->make_results(kind.results);
  return call;
}

void QueuedCall::make_results(const ResultKinds& kinds) {
  const bool is_first = places_.empty();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    results_.emplace_back();
    if (kinds[i].argument != ResultKind::kNew) continue;
    results_.back() = make_result(kinds[i]);
    const std::size_t place = place_of(results_.back());
    if (is_first) places_.push_back({i, place});
  }
}

void QueuedCall::keep_line() { line_ = runtime::call_site(); }

at::Tensor QueuedCall::alias(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  // One that Python made of a number is nobody else's; another may change before the call runs.
  if (!impl->is_mps()) return impl->is_wrapped_number() ? tensor : tensor.clone();
  return alias_at(place_of(tensor));
}

std::size_t QueuedCall::place_of(const at::Tensor& tensor) {
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  for (std::size_t i = 0; i < tensors_in_use_; ++i) {
    if (tensors_[i].source == impl) return i;
  }
  const std::size_t storage = storage_alias(*impl->unsafe_storage().unsafeGetStorageImpl());
  if (tensors_in_use_ == tensors_.size()) {
    at::Tensor alias(
        ImplAccess::copy(*impl, storages_[storage].storage, cpu_keys(impl->key_set()), runtime::kCpuDevice));
    tensors_.push_back({impl, std::move(alias), storage});
  } else {
    // Equal keys: the types, sizes and strides are those of the call before, and so is what shares a storage.
    tensors_[tensors_in_use_].source = impl;
    tensors_[tensors_in_use_].tensor.unsafeGetTensorImpl()->set_storage_offset(impl->storage_offset());
  }
  return tensors_in_use_++;
}

std::size_t QueuedCall::storage_alias(c10::StorageImpl& source) {
  for (std::size_t i = 0; i < storages_in_use_; ++i) {
    if (storages_[i].source == &source) return i;
  }
  // data() rather than mutable_data(): looking must not break copy-on-write.
  void* data = const_cast<void*>(source.data());
  held_.hold(data);
  bytes_ += source.nbytes();
  c10::DataPtr view(data, runtime::kCpuDevice);
  if (storages_in_use_ == storages_.size()) {
    storages_.push_back({&source, c10::make_intrusive<c10::StorageImpl>(
                                      c10::StorageImpl::use_byte_size_t(), source.nbytes(), std::move(view),
                                      runtime::alias_allocator(), source.resizable())});
  } else {
    StorageAlias& again = storages_[storages_in_use_];
    again.source = &source;
    again.storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(view));
    again.storage.unsafeGetStorageImpl()->set_nbytes(source.nbytes());
  }
  return storages_in_use_++;
}

void QueuedCall::run(c10::function_ref<Results()> compute) {
  // Gradients were taken care of when the operator was called; autocast decided then.
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCPU);
  const runtime::CallSiteScope called_at(line_);
  const runtime::RouteScope route(asked_by_);
  runtime::PlacedResults placed;
  for (const Place& place : places_) {
    const c10::Storage& storage = alias_at(place.tensor).storage();
    if (storage.nbytes() != 0) placed.add(storage.mutable_data(), storage.nbytes());
  }
  try {
    move_into_place(compute());
  } catch (...) {
    for (const Place& place : places_) alias_at(place.tensor).zero_();
    runtime::DeviceQueue::report(std::current_exception());
  }
}

// Kernels may have left results elsewhere, one in the place of another even.
void QueuedCall::move_into_place(const Results& results) const {
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 2> moves;
  for (const Place& place : places_) {
    const at::Tensor& result = results[place.index];
    const at::Tensor& target = alias_at(place.tensor);
    const bool there = result.is_same(target) ||
                       (result.const_data_ptr() == target.const_data_ptr() && result.strides() == target.strides());
    if (!there) moves.emplace_back(target, result);
  }
  if (moves.size() > 1) {
    for (auto& [target, result] : moves) result = result.clone();
  }
  for (const auto& [target, result] : moves) target.copy_(result);
}

void QueuedCall::keep(std::unique_ptr<QueuedCall> call) {
  if (call->kind_ == nullptr || !call->is_nobody_elses()) return;
  call->rewind();
  SpareCalls& spares = call->kind_->spares;
  spares.put(std::move(call));
}

// A kernel may go on holding a tensor that it was given, or the memory of one.
bool QueuedCall::is_nobody_elses() const {
  c10::SmallVector<std::size_t, 4> holders(storages_.size(), 1);
  for (const Alias& alias : tensors_) ++holders[alias.storage];
  for (const Alias& alias : tensors_) {
    if (alias.tensor.use_count() != 1) return false;
  }
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    if (storages_[i].storage.use_count() != holders[i]) return false;
  }
  return true;
}

void QueuedCall::rewind() {
  held_.let_go();
  results_.clear();
  line_.clear();
  tensors_in_use_ = 0;
  storages_in_use_ = 0;
  bytes_ = 0;
}

SpareCalls::~SpareCalls() {
  for (QueuedCall* list : {ready_, returned_.load()}) {
    while (list != nullptr) delete std::exchange(list, list->next_);
  }
}

std::unique_ptr<QueuedCall> SpareCalls::take(const KnownCall& kind) {
  const std::lock_guard lock(mutex_);
  if (ready_ == nullptr) ready_ = returned_.exchange(nullptr, std::memory_order_acquire);
  if (ready_ != nullptr) return std::unique_ptr<QueuedCall>(std::exchange(ready_, ready_->next_));
  auto fresh = std::make_unique<QueuedCall>();
  if (made_ < kMost && of_all_.load(std::memory_order_relaxed) < kMostOfAll) {
    ++made_;
    of_all_.fetch_add(1, std::memory_order_relaxed);
    fresh->kind_ = &kind;
  }
  return fresh;
}

void SpareCalls::put(std::unique_ptr<QueuedCall> call) noexcept {
  QueuedCall* const own = call.release();
  own->next_ = returned_.load(std::memory_order_relaxed);
  while (!returned_.compare_exchange_weak(own->next_, own, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace anymps::backend::dispatch
