#include "backend/runtime/cuda_stand_in.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/util/env.h>

#include <new>

namespace anymps::backend::runtime {
namespace {

// The interface's own answers are those of a build without CUDA.
struct NoCuda final : at::CUDAHooksInterface {};

}  // namespace

void stand_in_for_cuda() {
  const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
  if (!hooks.isBuilt()) return;
  if (hooks.hasCUDA() && c10::utils::get_env("ANYMPS") != "1") return;
  // By the time that a backend is loaded PyTorch has made its one hooks object and kept a pointer to it, so registering
  // another comes too late. The object has no members: what it is can be changed where it lies.
  static_assert(sizeof(NoCuda) == sizeof(void*), "the hooks object is expected to hold nothing");
  new (const_cast<at::CUDAHooksInterface*>(&hooks)) NoCuda;
}

}  // namespace anymps::backend::runtime
