// `anymps check --as-torch RELEASE`: what a program calls that the simulated release has no more, or that it runs on
// MPS where the installed one does not.
#pragma once

#include <ATen/record_function.h>

namespace anymps::backend::observe {

// Of each call of an operator. Does nothing unless another release is simulated.
void check_release(const at::RecordFunction& function);

}  // namespace anymps::backend::observe
