// The heap as PyTorch's allocators: one for the mps device, and one in front of the CPU's that serves mps operators.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/StorageImpl.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "backend/runtime/backward_thread.h"
#include "backend/runtime/waits.h"
#include "gpu/memory/byte_count.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::runtime {

inline const c10::Device kMpsDevice(c10::DeviceType::MPS, 0);
inline const c10::Device kCpuDevice(c10::DeviceType::CPU);

// The device's allocator, registered with c10::SetAllocator.
c10::DeviceAllocator* mps_allocator();

// The allocator that alias storages carry: it takes from the heap always, and hands out CPU pointers.
c10::Allocator* alias_allocator();

// Pinned host memory: heap memory seen as a CPU tensor's.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* pointer);

bool in_heap(const void* pointer);

// Returns when the host may look at the storage's memory, or write to it: no queued command uses it any more.
void wait_for_commands(const c10::StorageImpl& storage);

// Makes these the device's allocators, and puts the router in front of PyTorch's CPU allocator. Called once, when the
// library is loaded.
void install_memory();

// Whose work a command of the queue is, kept from its call until it runs.
struct AskedBy {
  const char* name = nullptr;  // the operator's, good for the process's life; nullptr: what this thread calls now
  std::uint64_t correlation = 0;
};

// Who is told of what the device does, while the trace has details.
struct RouteObserver {
  // The time at which it began.
  std::uint64_t (*begin)() noexcept = nullptr;
  void (*end)(std::uint64_t began_ns, const AskedBy& by) noexcept = nullptr;
  // What this thread calls now.
  AskedBy (*ask)() noexcept = nullptr;
};

// While one lives, CPU allocations of this thread come out of the heap, so that results of CPU kernels are the device's
// without a copy. It nests.
class RouteScope {
 public:
  RouteScope() noexcept {
    BackwardThread::stay_on_caller();
    if (depth_++ == 0 && gpu::trace::Trace::detailed() && observer_.begin != nullptr) began_ns_ = observer_.begin();
  }
  ~RouteScope() {
    if (--depth_ != 0) return;
    DeviceWork::given();
    if (began_ns_ != 0) observer_.end(std::exchange(began_ns_, 0), std::exchange(asked_by_, {}));
  }
  // Of a command that was encoded for it.
  explicit RouteScope(const AskedBy& by) noexcept : RouteScope() {
    if (depth_ == 1 && began_ns_ != 0) asked_by_ = by;
  }
  RouteScope(const RouteScope&) = delete;
  RouteScope& operator=(const RouteScope&) = delete;
  static bool active() noexcept { return depth_ > 0; }
  // Once, when the library is loaded.
  static void set_observer(RouteObserver observer) { observer_ = observer; }
  static AskedBy ask() noexcept {
    return gpu::trace::Trace::detailed() && observer_.ask != nullptr ? observer_.ask() : AskedBy();
  }

  // While one lives, what is routed counts as tensors from the start: for kernels that keep what their gradient needs.
  class AsTensors {
   public:
    AsTensors() noexcept : before_(as_tensors_) { as_tensors_ = true; }
    ~AsTensors() { as_tensors_ = before_; }
    AsTensors(const AsTensors&) = delete;
    AsTensors& operator=(const AsTensors&) = delete;

   private:
    const bool before_;
  };
  static bool as_tensors() noexcept { return as_tensors_; }

 private:
  // The outermost scope of a thread is what the device does.
  static RouteObserver observer_;
  static thread_local int depth_;
  static thread_local bool as_tensors_;
  static thread_local std::uint64_t began_ns_;
  static thread_local AskedBy asked_by_;
};

// Makes memory that a CPU kernel produced the device's own, and counts it. Blocks of the heap change hands; anything
// else (memory that a kernel took from malloc on a worker thread) is kept alive by a wrapper. Throws PyTorch's
// out-of-memory error where the simulated Mac has no room for it: the memory is free again then.
c10::DataPtr adopt(c10::DataPtr pointer, std::size_t bytes);

// Limits, as the environment and set_per_process_memory_fraction set them.
void set_memory_fraction(double ratio);
void empty_cache();
// Bytes that the device may hold in all; nothing where there is no limit.
std::optional<std::size_t> memory_limit();

struct MemoryUse {
  gpu::memory::ByteCount allocated;  // in tensors, as a Mac counts them
  gpu::memory::ByteCount reserved;   // in heaps: the driver's figure
  // In tensors, and in the temporaries of CPU kernels.
  std::size_t with_temporaries;
  std::size_t with_temporaries_peak;
  std::size_t resident;  // taken from this machine
  std::uint64_t allocations;
  std::uint64_t frees;
};
MemoryUse memory_use();

}  // namespace anymps::backend::runtime
