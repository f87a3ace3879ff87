// Views change no memory, so PyTorch's own functions for them serve any device with storage.
#include <ATen/NativeFunctions.h>
#include <torch/library.h>

#include "backend/ops/registration.h"

namespace anymps::backend::ops {

void register_views(torch::Library& m) {
  m.impl("as_strided", at::native::as_strided_tensorimpl);
  m.impl("view", at::native::view);
  m.impl("_reshape_alias", at::native::_reshape_alias);
  m.impl("unfold", at::native::unfold);
  m.impl("view_as_real", at::native::view_as_real);
  m.impl("view_as_complex", at::native::view_as_complex);
  m.impl("permute", at::native::permute);
}

}  // namespace anymps::backend::ops
