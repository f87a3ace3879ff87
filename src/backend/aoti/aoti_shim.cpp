// The functions that AOTInductor's code calls for its Metal kernels and constants (aoti_torch/c/shim_mps.h), on the
// same classes that torch.mps.compile_shader uses. Of operators: cmake/aoti_shim.py.
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <c10/util/Exception.h>
#include <torch/csrc/inductor/aoti_torch/c/shim_mps.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "backend/release/torch_release.h"
#include "backend/runtime/memory.h"
#include "gpu/device.h"
#include "gpu/memory/heap.h"

using at::native::mps::DynamicMetalShaderLibrary;
using at::native::mps::MetalKernelFunction;

// A kernel, and the launch of it that is being put together.
struct AOTIMetalKernelFunctionOpaque {
  AOTIMetalKernelFunctionOpaque(MTLComputePipelineState_t given_state, MTLFunction_t given_function)
      : state(given_state), function(given_function), launch(given_state, given_function) {}

  MTLComputePipelineState_t state;
  MTLFunction_t function;
  MetalKernelFunction launch;
};

struct AOTIMetalShaderLibraryOpaque {
  explicit AOTIMetalShaderLibraryOpaque(const char* source) : library(source) {}

  DynamicMetalShaderLibrary library;
  std::mutex mutex;
  std::map<std::string, AOTIMetalKernelFunctionOpaque> kernels;  // they stay where they are: callers keep pointers
};

namespace anymps::backend::aoti {
namespace {

// Generated code does not look at what these functions return. What went wrong is therefore also left for the next
// synchronisation to find, where a GPU's errors are found: nobody would hear of it otherwise.
void leave_for_synchronisation(const char* what) {
  gpu::report_device_error(
      {.message = what, .function = "AOTInductor", .file = "shim_mps.h", .line = 0, .call_site = {}});
}

template <typename Body>
AOTITorchError guarded(Body body) {
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    try {
      body();
    } catch (const c10::Error& error) {
      leave_for_synchronisation(error.what_without_backtrace());
      throw;
    } catch (const std::exception& error) {
      leave_for_synchronisation(error.what());
      throw;
    }
  });
}

// A handle is null where the call that should have made it failed, and its error was passed over.
template <typename Opaque>
Opaque& made(Opaque* handle, const char* what) {
  TORCH_CHECK(handle != nullptr, "AOTInductor was given no ", what, ": it could not be made");
  return *handle;
}

MetalKernelFunction& launch_of(AOTIMetalKernelFunctionHandle function) { return made(function, "Metal kernel").launch; }

// Where a Mac has a buffer, there is memory here: `bytes` of it from `offset` on, which are about to be written.
std::byte* room_in(void* buffer, std::size_t offset, std::size_t bytes) {
  auto* memory = &made(static_cast<std::byte*>(buffer), "buffer");
  // Constants are replaced by all of the storage that a tensor lies in, which may be more than there is room for.
  const std::size_t room = runtime::in_heap(memory) ? gpu::memory::Heap::requested(memory) : offset + bytes;
  TORCH_CHECK(offset <= room && bytes <= room - offset, "AOTInductor writes ", bytes, " bytes at ", offset,
              " into a buffer of ", room);
  return memory + offset;
}

}  // namespace
}  // namespace anymps::backend::aoti

// The definitions below are of no namespace.
using anymps::backend::aoti::guarded;
using anymps::backend::aoti::launch_of;
using anymps::backend::aoti::made;
using anymps::backend::aoti::room_in;
using anymps::backend::runtime::mps_allocator;

AOTITorchError aoti_torch_mps_create_shader_library(const char* metal_shader_source,
                                                    AOTIMetalShaderLibraryHandle* library_handle) {
  return guarded([&] { *library_handle = new AOTIMetalShaderLibraryOpaque(metal_shader_source); });
}

AOTITorchError aoti_torch_mps_delete_shader_library(AOTIMetalShaderLibraryHandle library_handle) {
  return guarded([&] { delete library_handle; });
}

AOTITorchError aoti_torch_mps_get_kernel_function(AOTIMetalShaderLibraryHandle library_handle, const char* kernel_name,
                                                  AOTIMetalKernelFunctionHandle* function_handle) {
  return guarded([&] {
    AOTIMetalShaderLibraryOpaque& from = made(library_handle, "Metal library");
    const std::lock_guard lock(from.mutex);
    auto found = from.kernels.find(kernel_name);
    if (found == from.kernels.end()) {
      found = from.kernels
                  .try_emplace(kernel_name, from.library.getPipelineStateForFunc(kernel_name),
                               from.library.getMTLFunction(kernel_name))
                  .first;
    }
    *function_handle = &found->second;
  });
}

AOTITorchError aoti_torch_mps_start_encoding(AOTIMetalKernelFunctionHandle func) {
  return guarded([&] { launch_of(func).startEncoding(); });
}

AOTITorchError aoti_torch_mps_set_arg_tensor(AOTIMetalKernelFunctionHandle func, unsigned idx,
                                             AtenTensorHandle tensor) {
  return guarded([&] { launch_of(func).setArg(idx, *torch::aot_inductor::tensor_handle_to_tensor_pointer(tensor)); });
}

AOTITorchError aoti_torch_mps_set_arg_int(AOTIMetalKernelFunctionHandle func, unsigned idx, int64_t val) {
  return guarded([&] { launch_of(func).setArg(idx, val); });
}

AOTITorchError aoti_torch_mps_dispatch_single(AOTIMetalKernelFunctionHandle func, uint64_t length) {
  return guarded([&] { launch_of(func).dispatch(length); });
}

AOTITorchError aoti_torch_mps_dispatch_single_with_group_size(AOTIMetalKernelFunctionHandle func, uint64_t length,
                                                              uint64_t group_size) {
  return guarded([&] { launch_of(func).dispatch(length, group_size); });
}

AOTITorchError aoti_torch_mps_dispatch_array(AOTIMetalKernelFunctionHandle func, const uint64_t* length,
                                             size_t length_size) {
  return guarded([&] { launch_of(func).dispatch(c10::ArrayRef(length, length_size)); });
}

AOTITorchError aoti_torch_mps_dispatch_array_with_group_size(AOTIMetalKernelFunctionHandle func, const uint64_t* length,
                                                             size_t length_size, const uint64_t* group_size,
                                                             size_t group_size_size) {
  return guarded([&] {
    launch_of(func).dispatch(c10::ArrayRef(length, length_size), c10::ArrayRef(group_size, group_size_size));
  });
}

AOTITorchError aoti_torch_mps_malloc(void** buffer, size_t num_bytes) {
  return guarded([&] { *buffer = mps_allocator()->raw_allocate(num_bytes); });
}

AOTITorchError aoti_torch_mps_free(void* ptr) {
  return guarded([&] {
    if (ptr != nullptr) mps_allocator()->raw_deallocate(ptr);
  });
}

AOTITorchError aoti_torch_mps_memcpy(void* buffer, size_t constant_offset, size_t bytes_read, size_t data_size,
                                     uint8_t* constants_start) {
  return guarded(
      [&] { std::memcpy(room_in(buffer, constant_offset, data_size), constants_start + bytes_read, data_size); });
}

AOTITorchError aoti_torch_mps_copy_buffer(void* src_buffer, void* dst_buffer, size_t data_size, size_t src_offset,
                                          size_t dst_offset) {
  return guarded([&] {
    const auto* from = &made(static_cast<const std::byte*>(src_buffer), "buffer");
    std::memcpy(room_in(dst_buffer, dst_offset, data_size), from + src_offset, data_size);
  });
}

void aoti_torch_mps_shared_callback(AOTIMetalKernelFunctionHandle func, void* user_data) {
  (*static_cast<std::function<void(AOTIMetalKernelFunctionHandle)>*>(user_data))(func);
}

AOTITorchError aoti_torch_mps_run_command_block(AOTIMetalKernelFunctionHandle func,
                                                aoti_torch_mps_command_block_callback_t callback, void* user_data) {
  return guarded([&] {
    // A Mac runs blocks one after the other on a queue. Here each has a launch of its own, since threads that run one
    // model share the kernel's handle.
    const AOTIMetalKernelFunctionOpaque& shared = made(func, "Metal kernel");
    AOTIMetalKernelFunctionOpaque own(shared.state, shared.function);
    own.launch.runCommandBlock([&] { callback(&own, user_data); });
  });
}

#if ANYMPS_STABLE_SHIM_SETS_BYTES
// Of torch/csrc/stable/c/shim.h, which declares it for builds of PyTorch that have MPS. Extensions call it and look at
// what it returns, so that nothing is left for the next synchronisation.
extern "C" AOTI_TORCH_EXPORT AOTITorchError torch_mps_set_arg_bytes(AOTIMetalKernelFunctionHandle func, unsigned idx,
                                                                    const void* ptr, uint64_t size) {
  constexpr uint64_t kMostBytes = 4096;
  AOTI_TORCH_CONVERT_EXCEPTION_TO_ERROR_CODE({
    TORCH_CHECK(ptr != nullptr, "Pointer is null.");
    TORCH_CHECK(size > 0 && size <= kMostBytes, "size must be in (0, 4096], got ", size,
                ". Metal setBytes only supports transient data up to 4 KB. Pass larger data as a tensor.");
    launch_of(func).setArg(idx, ptr, size);
  });
}
#endif
