// CpuCall: an AliasCall with all that must hold while CPU functions run on its aliases.
#pragma once

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <optional>

#include "backend/dispatch/alias.h"

namespace anymps::backend::dispatch {

class CpuCall {
 public:
  at::Tensor operator()(const at::Tensor& tensor) { return alias_.to_cpu(tensor); }
  std::optional<at::Tensor> operator()(const std::optional<at::Tensor>& tensor) {
    return tensor && tensor->defined() ? std::optional(alias_.to_cpu(*tensor)) : std::nullopt;
  }
  at::Tensor back(at::Tensor result) { return alias_.to_mps(std::move(result)); }
  void finish() { alias_.finish(); }

 private:
  AliasCall alias_;
  runtime::RouteScope route_;
  // Gradients were taken care of above; autocast decided on the device's own list.
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  c10::impl::ExcludeDispatchKeyGuard no_autocast_{c10::DispatchKey::AutocastCPU};
};

}  // namespace anymps::backend::dispatch
