// An extension as its author would write it on a Mac: PyTorch's own header, and no word of anymps.
#include <ATen/ATen.h>
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <torch/library.h>

#include <array>
#include <string>
#include <vector>

namespace {

using at::native::mps::MetalKernelFunction;
using at::native::mps::PrecompiledMetalShaderLibrary;

void launch(MetalKernelFunction& kernel, const at::Tensor& x, double factor) {
  kernel.runCommandBlock([&] {
    kernel.startEncoding();
    kernel.setArg(0, x);
    kernel.setArg(1, static_cast<float>(factor));
    kernel.dispatch(static_cast<uint64_t>(x.numel()));
  });
}

at::Tensor scale(const at::Tensor& x, double factor, const std::string& path) {
  PrecompiledMetalShaderLibrary library(path);
  launch(*library.getKernelFunction("scale"), x, factor);
  return x;
}

// By containers, in two dimensions, from the kernel that the library keeps.
at::Tensor scale_corner(const at::Tensor& x, double factor, const std::string& path) {
  PrecompiledMetalShaderLibrary library(path);
  MetalKernelFunction* kernel = library.getCachedKernelFunctionPtr("scale");
  TORCH_CHECK(kernel == library.getCachedKernelFunctionPtr("scale"));
  kernel->runCommandBlock([&] {
    kernel->startEncoding();
    kernel->setArg(0, x);
    kernel->setArg(1, std::vector<float>{static_cast<float>(factor)});
    const std::array<uint64_t, 2> threads = {2, 2};
    const std::array<uint64_t, 2> group = {2, 1};
    kernel->dispatch(threads, c10::ArrayRef<uint64_t>(group));
  });
  return x;
}

std::vector<int64_t> facts(const std::string& path) {
  PrecompiledMetalShaderLibrary library(path);
  const auto kernel = library.getKernelFunction("scale");
  return {static_cast<int64_t>(library.getFunctionNames().size()),
          static_cast<int64_t>(library.hasFunction("scale")),
          static_cast<int64_t>(library.hasFunction("other")),
          static_cast<int64_t>(kernel->getMaxThreadsPerThreadgroup()),
          static_cast<int64_t>(kernel->getThreadExecutionWidth()),
          static_cast<int64_t>(kernel->getStaticThreadGroupMemoryLength())};
}

void bundled() { at::native::mps::MetalShaderLibrary::getBundledLibrary(); }

}  // namespace

TORCH_LIBRARY(shader_extension, m) {
  m.def("scale", &scale);
  m.def("scale_corner", &scale_corner);
  m.def("facts", &facts);
  m.def("bundled", &bundled);
}
