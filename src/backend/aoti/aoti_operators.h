// What the generated functions of AOTInductor's operators have in common (cmake/aoti_shim.py).
#pragma once

#include <ATen/ATen.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_mps.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

namespace anymps::backend::aoti {

// A Mac's functions call the device's kernels by name: neither autograd nor autocast nor a mode of Python's sees them.
class StraightToKernels {
 private:
  c10::impl::ExcludeDispatchKeyGuard past_{c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                                           c10::autocast_dispatch_keyset | c10::python_ks};
};

}  // namespace anymps::backend::aoti
