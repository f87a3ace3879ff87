// Stands for a CUDA build of PyTorch on a machine without a GPU: preloaded, it answers isBuilt() as such a build does.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

struct CUDAHooks final : at::CUDAHooksInterface {
  bool isBuilt() const override { return true; }
  bool hasCUDA() const override { return false; }
};

const bool kRegistered = [] {
  at::CUDAHooksRegistry()->Register(
      "CUDAHooks", [](at::CUDAHooksArgs) { return std::unique_ptr<at::CUDAHooksInterface>(new CUDAHooks); });
  return true;
}();

c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> guard;
const c10::impl::DeviceGuardImplRegistrar kGuard(c10::DeviceType::CUDA, &guard);

}  // namespace
