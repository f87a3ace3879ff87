// What TensorImpl lets only its children do: change device and keys in place. Doing so spares a second TensorImpl per
// result, and copying metadata spares the recomputation of contiguity per argument: together most of the cost of an
// alias.
#pragma once

#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorImpl.h>

#include <utility>

namespace anymps::backend::dispatch {

class ImplAccess : public c10::TensorImpl {
 public:
  static c10::intrusive_ptr<c10::TensorImpl> copy(const c10::TensorImpl& source, c10::Storage storage,
                                                  c10::DispatchKeySet keys, c10::Device device) {
    return copy_into(c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(), source.dtype(), device), source,
                     std::move(storage), keys, device);
  }

  static c10::intrusive_ptr<c10::TensorImpl> copy_into(c10::intrusive_ptr<c10::TensorImpl> result,
                                                       const c10::TensorImpl& source, c10::Storage storage,
                                                       c10::DispatchKeySet keys, c10::Device device) {
    copy_tensor_metadata(&source, result.get(), source.version_counter(), /*allow_tensor_metadata_change=*/true);
    result.get()->*(&ImplAccess::storage_) = std::move(storage);
    rekey(*result, keys, device);
    return result;
  }

  static void rekey(c10::TensorImpl& impl, c10::DispatchKeySet keys, c10::Device device) {
    impl.*(&ImplAccess::key_set_) = keys;
    impl.*(&ImplAccess::device_opt_) = device;
  }

  static void set_storage(c10::TensorImpl& impl, c10::Storage storage) {
    impl.*(&ImplAccess::storage_) = std::move(storage);
  }
};

inline c10::DispatchKeySet swap_backend(c10::DispatchKeySet keys, c10::BackendComponent from,
                                        c10::DispatchKey from_autocast, c10::BackendComponent to,
                                        c10::DispatchKey to_autocast) {
  return keys.remove_backend(from).remove(from_autocast) | c10::DispatchKeySet(to) | c10::DispatchKeySet(to_autocast);
}

inline c10::DispatchKeySet cpu_keys(c10::DispatchKeySet keys) {
  return swap_backend(keys, c10::BackendComponent::MPSBit, c10::DispatchKey::AutocastMPS, c10::BackendComponent::CPUBit,
                      c10::DispatchKey::AutocastCPU);
}

inline c10::DispatchKeySet mps_keys(c10::DispatchKeySet keys) {
  return swap_backend(keys, c10::BackendComponent::CPUBit, c10::DispatchKey::AutocastCPU, c10::BackendComponent::MPSBit,
                      c10::DispatchKey::AutocastMPS);
}

}  // namespace anymps::backend::dispatch
