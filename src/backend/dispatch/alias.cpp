#include "backend/dispatch/alias.h"

#include <ATen/ATen.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

#include "backend/dispatch/refusal.h"
#include "backend/dispatch/tensor_access.h"
#include "backend/runtime/device_queue.h"

namespace anymps::backend::dispatch {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

// Aliases live for microseconds, and making one is two allocations: each thread keeps a few to use again.
class SpareAliases {
 public:
  static SpareAliases& of_this_thread() {
    static thread_local SpareAliases spares;
    return spares;
  }

  c10::intrusive_ptr<c10::TensorImpl> tensor(const c10::TensorImpl& source) {
    if (tensors_.empty())
      return c10::make_intrusive<c10::TensorImpl>(DispatchKeySet(), source.dtype(), runtime::kCpuDevice);
    return tensors_.pop_back_val();
  }

  c10::intrusive_ptr<c10::StorageImpl> storage(const c10::StorageImpl& source) {
    // data() rather than mutable_data(): looking must not break copy-on-write or deny a read-only storage.
    c10::DataPtr view(const_cast<void*>(source.data()), runtime::kCpuDevice);
    if (storages_.empty()) {
      return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), source.nbytes(),
                                                   std::move(view), runtime::alias_allocator(), source.resizable());
    }
    c10::intrusive_ptr<c10::StorageImpl> spare = storages_.pop_back_val();
    spare->set_data_ptr_noswap(std::move(view));
    spare->set_nbytes(source.nbytes());
    spare->set_resizable(source.resizable());
    return spare;
  }

  // Only what nobody else holds, and what nothing was attached to, may be used again.
  void keep(at::Tensor& tensor) {
    if (tensors_.size() == kKept || tensor.use_count() != 1) return;
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    if (impl->autograd_meta() != nullptr) return;
    ImplAccess::set_storage(*impl, c10::Storage());
    tensors_.push_back(c10::intrusive_ptr<c10::TensorImpl>::reclaim(tensor.unsafeReleaseTensorImpl()));
  }
  void keep(c10::Storage& storage) {
    if (storages_.size() == kKept || storage.use_count() != 1) return;
    storage.unsafeGetStorageImpl()->set_data_ptr_noswap(c10::DataPtr(nullptr, runtime::kCpuDevice));
    storages_.push_back(c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage.unsafeReleaseStorageImpl()));
  }

 private:
  static constexpr std::size_t kKept = 8;
  c10::SmallVector<c10::intrusive_ptr<c10::TensorImpl>, kKept> tensors_;
  c10::SmallVector<c10::intrusive_ptr<c10::StorageImpl>, kKept> storages_;
};

void make_mps(c10::StorageImpl& storage) {
  c10::DataPtr old = storage.set_data_ptr(c10::DataPtr(nullptr, runtime::kMpsDevice));
  storage.set_data_ptr_noswap(runtime::adopt(std::move(old), storage.nbytes()));
  storage.set_allocator(runtime::mps_allocator());
}

}  // namespace

AliasCall::~AliasCall() {
  SpareAliases& spares = SpareAliases::of_this_thread();
  for (TensorPair& pair : tensors_) {
    if (pair.alias.layout() == at::kStrided) spares.keep(pair.alias);
  }
  for (StoragePair& pair : storages_) spares.keep(pair.alias);
}

c10::Storage AliasCall::alias_storage(const c10::Storage& source) {
  c10::StorageImpl* impl = source.unsafeGetStorageImpl();
  for (const StoragePair& pair : storages_) {
    if (pair.source == impl) return pair.alias;
  }
  runtime::wait_for_commands(*impl);
  c10::Storage alias(SpareAliases::of_this_thread().storage(*impl));
  storages_.push_back({impl, alias});
  return alias;
}

at::Tensor AliasCall::to_cpu(const at::Tensor& tensor) {
  if (!tensor.defined()) return tensor;
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  if (!impl->is_mps()) {
    if (tensor.layout() == at::kStrided && impl->has_storage())
      cpu_storages_.push_back(impl->unsafe_storage().unsafeGetStorageImpl());
    if (tensor.dim() != 0 && !bystander_.defined()) bystander_ = tensor;
    return tensor;
  }
  for (const TensorPair& pair : tensors_) {
    if (pair.source == impl) return pair.alias;
  }
  at::Tensor alias;
  if (tensor.layout() == at::kStrided) {
    const c10::Storage& storage = impl->unsafe_storage();
    alias = at::Tensor(ImplAccess::copy_into(SpareAliases::of_this_thread().tensor(*impl), *impl,
                                             storage ? alias_storage(storage) : c10::Storage(),
                                             cpu_keys(impl->key_set()), runtime::kCpuDevice));
  } else {
    alias = sparse_to_cpu(tensor);
  }
  tensors_.push_back({impl, alias});
  return alias;
}

at::Tensor AliasCall::sparse_to_cpu(const at::Tensor& tensor) {
  if (tensor.layout() == at::kSparse) {
    auto* source = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    auto alias = at::detail::make_tensor<at::SparseTensorImpl>(DispatchKeySet(DispatchKey::SparseCPU), tensor.dtype());
    auto* target = static_cast<at::SparseTensorImpl*>(alias.unsafeGetTensorImpl());
    target->resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    target->set_indices_and_values_unsafe(to_cpu(source->indices()), to_cpu(source->values()));
    target->set_coalesced(source->coalesced());
    return alias;
  }
  auto* source = static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
  auto alias = at::detail::make_tensor<at::SparseCsrTensorImpl>(DispatchKeySet(DispatchKey::SparseCsrCPU),
                                                                runtime::kCpuDevice, tensor.layout(), tensor.dtype());
  static_cast<at::SparseCsrTensorImpl*>(alias.unsafeGetTensorImpl())
      ->set_member_tensors(to_cpu(source->compressed_indices()), to_cpu(source->plain_indices()),
                           to_cpu(source->values()), source->sizes());
  return alias;
}

c10::Storage AliasCall::source_storage(const at::Tensor& tensor) {
  c10::Storage storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  for (const StoragePair& pair : storages_) {
    if (pair.alias.unsafeGetStorageImpl() == impl) {
      return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(pair.source));
    }
  }
  if (impl->device_type() == c10::DeviceType::MPS) return storage;
  for (const c10::StorageImpl* bystander : cpu_storages_) {
    if (bystander == impl) return {};
  }
  make_mps(*impl);
  return storage;
}

at::Tensor AliasCall::to_mps(at::Tensor result) {
  if (!result.defined()) return result;
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  for (const TensorPair& pair : tensors_) {
    if (pair.alias.unsafeGetTensorImpl() == impl) {
      return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(pair.source));
    }
  }
  if (!impl->is_cpu()) return result;
  refuse_float64(result.scalar_type());
  if (result.layout() == at::kMkldnn || result.is_quantized()) return result;
  if (result.layout() != at::kStrided) return sparse_to_mps(result);
  if (!impl->has_storage() || !impl->unsafe_storage()) {
    ImplAccess::rekey(*impl, mps_keys(impl->key_set()), runtime::kMpsDevice);
    return result;
  }
  c10::Storage storage = source_storage(result);
  if (!storage) return to_mps(result.clone());
  if (result.use_count() == 1) {
    ImplAccess::set_storage(*impl, std::move(storage));
    ImplAccess::rekey(*impl, mps_keys(impl->key_set()), runtime::kMpsDevice);
    return result;
  }
  return at::Tensor(ImplAccess::copy(*impl, std::move(storage), mps_keys(impl->key_set()), runtime::kMpsDevice));
}

at::Tensor AliasCall::sparse_to_mps(const at::Tensor& tensor) {
  if (tensor.layout() == at::kSparse) {
    auto* source = static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
    auto result = at::detail::make_tensor<at::SparseTensorImpl>(DispatchKeySet(DispatchKey::SparseMPS), tensor.dtype());
    auto* target = static_cast<at::SparseTensorImpl*>(result.unsafeGetTensorImpl());
    target->resize_(source->sparse_dim(), source->dense_dim(), source->sizes());
    target->set_indices_and_values_unsafe(to_mps(source->indices()), to_mps(source->values()));
    target->set_coalesced(source->coalesced());
    return result;
  }
  auto* source = static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
  auto result = at::detail::make_tensor<at::SparseCsrTensorImpl>(DispatchKeySet(DispatchKey::SparseCsrMPS),
                                                                 runtime::kMpsDevice, tensor.layout(), tensor.dtype());
  static_cast<at::SparseCsrTensorImpl*>(result.unsafeGetTensorImpl())
      ->set_member_tensors(to_mps(source->compressed_indices()), to_mps(source->plain_indices()),
                           to_mps(source->values()), source->sizes());
  return result;
}

void AliasCall::finish_sparse(c10::TensorImpl* source, const at::Tensor& alias) {
  if (alias.layout() != at::kSparse) return;
  auto* changed = static_cast<at::SparseTensorImpl*>(alias.unsafeGetTensorImpl());
  auto* target = static_cast<at::SparseTensorImpl*>(source);
  const at::Tensor indices = to_mps(changed->indices());
  const at::Tensor values = to_mps(changed->values());
  if (!indices.is_same(target->indices()) || !values.is_same(target->values()) || changed->sizes() != target->sizes()) {
    target->raw_resize_(changed->sparse_dim(), changed->dense_dim(), changed->sizes());
    target->set_indices_and_values_unsafe(indices, values);
  }
  if (target->coalesced() != changed->coalesced()) target->set_coalesced(changed->coalesced());
}

bool AliasCall::finish() {
  bool changed_some = false;
  for (const StoragePair& pair : storages_) {
    c10::StorageImpl* alias = pair.alias.unsafeGetStorageImpl();
    if (alias->data() == pair.source->data() && alias->nbytes() == pair.source->nbytes()) continue;
    changed_some = true;
    const std::size_t bytes = alias->nbytes();
    // The alias goes on pointing at the memory without owning it: results may still be views of it.
    c10::DataPtr owned = alias->set_data_ptr(c10::DataPtr(alias->mutable_data(), runtime::kCpuDevice));
    pair.source->set_data_ptr_noswap(runtime::adopt(std::move(owned), bytes));
    pair.source->set_nbytes(bytes);
  }
  // Indexed: sparse tensors may add to the list while it is walked.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    c10::TensorImpl* source = tensors_[i].source;
    const at::Tensor alias = tensors_[i].alias;
    if (alias.layout() != at::kStrided) {
      finish_sparse(source, alias);
      changed_some = true;
      continue;
    }
    c10::TensorImpl* changed = alias.unsafeGetTensorImpl();
    if (!changed->unsafe_storage()) continue;
    c10::Storage storage = source_storage(alias);
    if (storage && storage.unsafeGetStorageImpl() != source->unsafe_storage().unsafeGetStorageImpl()) {
      source->set_storage_keep_dtype(std::move(storage));
      changed_some = true;
    }
    if (source->sizes() != changed->sizes() || source->strides() != changed->strides() ||
        source->storage_offset() != changed->storage_offset()) {
      source->set_sizes_and_strides(changed->sizes(), changed->strides(), changed->storage_offset());
      changed_some = true;
    }
  }
  return changed_some;
}

at::Tensor owning_cpu_alias(const at::Tensor& tensor) {
  runtime::DeviceQueue::drain();
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  auto* keep = new c10::Storage(tensor.storage());
  c10::DataPtr view(
      const_cast<void*>(keep->data()), keep, [](void* storage) { delete static_cast<c10::Storage*>(storage); },
      runtime::kCpuDevice);
  c10::Storage alias(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), keep->nbytes(),
                                                           std::move(view), nullptr, /*resizable=*/false));
  return at::Tensor(ImplAccess::copy(*impl, std::move(alias), cpu_keys(impl->key_set()), runtime::kCpuDevice));
}

}  // namespace anymps::backend::dispatch
