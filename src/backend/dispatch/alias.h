// AliasCall: one operator call on the CPU's kernels, over the same memory.
//
// An mps tensor's memory is host memory, so a CPU tensor over the same bytes is made for each argument, the CPU kernel
// runs on those, and its results are turned into mps tensors. Nothing is copied. One alias storage stands for each
// source storage during the call, so that views, overlaps, `out=` and resizing behave as they do on one device.
//
// An object serves one call on one thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "backend/runtime/memory.h"

namespace anymps::backend::dispatch {

class AliasCall {
 public:
  AliasCall() = default;
  ~AliasCall();
  AliasCall(const AliasCall&) = delete;
  AliasCall& operator=(const AliasCall&) = delete;

  // The CPU tensor that stands for `tensor`. Tensors of other devices, and undefined ones, come back as they are and
  // are noted as bystanders. The caller keeps `tensor` alive until finish().
  at::Tensor to_cpu(const at::Tensor& tensor);

  // A result as an mps tensor: the source itself where the kernel returned an alias of it, a view of the source's
  // storage where it returned a view, and otherwise the result's own memory under a new device.
  at::Tensor to_mps(at::Tensor result);

  // Carries resized storages and changed shapes of arguments back to their sources. Only needed after operators that
  // write to arguments. Whether there was something to carry.
  bool finish();

  // First argument that was not on the device and is no scalar; undefined if there is none.
  const at::Tensor& bystander() const { return bystander_; }
  bool has_cpu_argument() const { return !cpu_storages_.empty(); }

 private:
  struct TensorPair {
    c10::TensorImpl* source;
    at::Tensor alias;
  };
  struct StoragePair {
    c10::StorageImpl* source;
    c10::Storage alias;
  };

  c10::Storage alias_storage(const c10::Storage& source);
  // The mps storage for a CPU tensor's storage: its source, or the storage itself made the device's. Empty where the
  // storage is a CPU argument's own, which must stay on the CPU.
  c10::Storage source_storage(const at::Tensor& tensor);
  at::Tensor sparse_to_cpu(const at::Tensor& tensor);
  at::Tensor sparse_to_mps(const at::Tensor& tensor);
  void finish_sparse(c10::TensorImpl* source, const at::Tensor& alias);

  c10::SmallVector<TensorPair, 4> tensors_;
  c10::SmallVector<StoragePair, 4> storages_;
  c10::SmallVector<c10::StorageImpl*, 2> cpu_storages_;
  at::Tensor bystander_;
};

// An alias for use outside of operator calls (host_alias_storage, printing): it keeps the source storage alive.
at::Tensor owning_cpu_alias(const at::Tensor& tensor);

}  // namespace anymps::backend::dispatch
