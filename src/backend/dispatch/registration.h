// What the ways of running any operator register.
#pragma once

#include <torch/library.h>

namespace anymps::backend::dispatch {

void register_fallback(torch::Library& every_operator);
void register_permanent_fallbacks(torch::Library& aten);
// One operator: as those that PyTorch's MPS backend lacks, or as those that it sends to the CPU without being asked.
void register_missing(torch::Library& aten, const char* name);
void register_permanent_fallback(torch::Library& aten, const char* name);
// Last, since it takes the place of what is registered.
void register_other_release(torch::Library& aten);
// The operators that programs call most, without the alias kernel's boxing.
void register_hot(torch::Library& aten);
// In releases where it runs on the CPU. At the device's key, and at its autograd key, or autograd would take the
// operator for one without a gradient.
void register_svd(torch::Library& aten);

}  // namespace anymps::backend::dispatch
