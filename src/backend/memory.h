// The heap as PyTorch's allocators: one for the mps device, and one in front of the CPU's that serves mps operators.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <cstddef>
#include <optional>

#include "backend/backward_thread.h"

namespace anymps::backend {

inline const c10::Device kMpsDevice(c10::DeviceType::MPS, 0);
inline const c10::Device kCpuDevice(c10::DeviceType::CPU);

// The device's allocator, registered with c10::SetAllocator.
c10::DeviceAllocator* mps_allocator();

// The allocator that alias storages carry: it takes from the heap always, and hands out CPU pointers.
c10::Allocator* alias_allocator();

// Pinned host memory: heap memory seen as a CPU tensor's.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);

// Puts the router in front of PyTorch's CPU allocator. Called once, when the library is loaded.
void install_cpu_router();

// While one lives, CPU allocations of this thread come out of the heap, so that results of CPU kernels are the device's
// without a copy. It nests.
class RouteScope {
 public:
  RouteScope() noexcept {
    BackwardThread::stay_on_caller();
    ++depth_;
  }
  ~RouteScope() { --depth_; }
  RouteScope(const RouteScope&) = delete;
  RouteScope& operator=(const RouteScope&) = delete;
  static bool active() noexcept { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

// Makes memory that a CPU kernel produced the device's own. Blocks of the heap change hands; anything else (memory that
// a kernel took from malloc on a worker thread) is kept alive by a wrapper.
c10::DataPtr adopt(c10::DataPtr pointer);

// Limits, as the environment and set_per_process_memory_fraction set them.
void set_memory_fraction(double ratio);
void empty_cache();
// Bytes that blocks may take in all; nothing where there is no limit.
std::optional<std::size_t> memory_limit();

}  // namespace anymps::backend
