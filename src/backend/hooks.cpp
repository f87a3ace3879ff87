// MPSHooks: what PyTorch asks of an MPS backend, answered. The bindings of torch.mps in a stock wheel call these.
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/HIPHooksInterface.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <ATen/detail/XPUHooksInterface.h>

#include "backend/observe/signposts.h"
#include "backend/observe/synchronize.h"
#include "backend/registration.h"
#include "backend/release/torch_release.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/event_time.h"
#include "backend/runtime/generator.h"
#include "backend/runtime/memory.h"
#include "gpu/device.h"
#include "gpu/event.h"
#include "gpu/memory/unified_memory.h"

namespace anymps::backend {
namespace {

// PyTorch knows these versions of macOS by name and rounds other questions to them, with a warning.
bool is_on_macos_or_newer(unsigned major, unsigned minor) {
  const gpu::DeviceFacts& facts = gpu::device_facts();
  auto at_least = [&](unsigned want_major, unsigned want_minor) {
    return facts.macos_major > want_major || (facts.macos_major == want_major && facts.macos_minor >= want_minor);
  };
  switch (major) {
    case 26:
      if (minor != 0) {
        TORCH_WARN("Can't check whether running on 26.", minor, "+ returning one for 26.0+");
      }
      return at_least(26, 0);
    case 15:
      if (minor > 1) {
        TORCH_WARN("Can't check whether running on 15.", minor, "+ returning one for 15.1+");
      }
      return at_least(15, minor == 0 ? 0 : 1);
    case 14:
      if (minor == 0) return true;
      if (minor != 4) {
        TORCH_WARN("Can't check whether running on 14.", minor, "+ returning one for 14.4+");
      }
      return at_least(14, 4);
    case 13:
      return true;
    default:
      TORCH_WARN("Checking for unexpected MacOS ", major, ".", minor, " returning false");
      return false;
  }
}

// Where macOS is too old for PyTorch, or names a Mac that is none: asked often, and never an exception.
bool device_is_there() {
  static const bool there = !gpu::device_problem() && gpu::device_facts().macos_major >= ANYMPS_OLDEST_MACOS;
  return there;
}

class MpsHooks final : public at::MPSHooksInterface {
 public:
  void init() const override {}
  bool hasMPS() const override { return device_is_there(); }
  // PyTorch refuses a second accelerator. Where the stand-in for CUDA did not apply (a GPU is there, or the build is
  // for another kind), torch.accelerator stays theirs; mps then works by name, without gradients.
  bool isBuilt() const override {
    return !at::detail::getCUDAHooks().isBuilt() && !at::detail::getXPUHooks().isBuilt() &&
           !at::detail::getHIPHooks().isBuilt();
  }
  bool isAvailable() const override { return device_is_there(); }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override { return is_on_macos_or_newer(major, minor); }

  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::Device getDeviceFromPtr(void*) const override { return runtime::kMpsDevice; }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override { return runtime::default_mps_generator(); }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::make_generator<runtime::MpsGenerator>(); }

  void deviceSynchronize() const override { observe::synchronize("synchronize"); }
  void commitStream() const override {}
  // There is no Metal command buffer to hand out: extensions in Objective-C++ cannot be built on this system either.
  void* getCommandBuffer() const override { return nullptr; }
  void* getDispatchQueue() const override { return nullptr; }

  c10::Allocator* getMPSDeviceAllocator() const override { return runtime::mps_allocator(); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return runtime::pinned_allocator(); }
  bool isPinnedPtr(const void* pointer) const override { return runtime::is_pinned(pointer); }
  void emptyCache() const override { runtime::empty_cache(); }
  std::size_t getCurrentAllocatedMemory() const override {
    return gpu::memory::UnifiedMemory::instance().ledger().allocated_bytes();
  }
  std::size_t getDriverAllocatedMemory() const override {
    return gpu::memory::UnifiedMemory::instance().ledger().reserved_bytes();
  }
  std::size_t getRecommendedMaxMemory() const override { return gpu::device_facts().recommended_working_set; }
#if ANYMPS_HOOKS_TELL_BUFFER_LENGTH
  std::size_t getMaxBufferLength() const override { return gpu::device_facts().max_buffer_length; }
#endif
  void setMemoryFraction(double ratio) const override { runtime::set_memory_fraction(ratio); }

  // Operators have run when they return, so there is nothing to wait for.
  void profilerStartTrace(const std::string& mode, bool) const override { observe::start_signposts(mode); }
  void profilerStopTrace() const override { observe::stop_signposts(); }

  std::uint32_t acquireEvent(bool enable_timing) const override {
    return gpu::EventPool::instance().acquire(enable_timing);
  }
  void releaseEvent(std::uint32_t id) const override {
    TORCH_CHECK(gpu::EventPool::instance().release(id), "Invalid Event ID: ", id);
  }
  void recordEvent(std::uint32_t id) const override { runtime::record_event(id); }
  void waitForEvent(std::uint32_t id) const override { runtime::event_in_use(id); }
  void synchronizeEvent(std::uint32_t id) const override {
    runtime::event_in_use(id);
    observe::synchronize("event synchronize");
  }
  bool queryEvent(std::uint32_t id) const override { return runtime::is_reached(id); }
  double elapsedTimeOfEvents(std::uint32_t start_id, std::uint32_t end_id) const override {
    observe::synchronize("event elapsed_time");
    return runtime::milliseconds_between(start_id, end_id);
  }
};

}  // namespace

void register_hooks() {
  static bool once = [] {
    // Releases before 2.13 pass an argument that says nothing.
    at::MPSHooksRegistry()->Register(
        "MPSHooks", [](const auto&...) { return std::unique_ptr<at::MPSHooksInterface>(new MpsHooks); });
    return true;
  }();
  (void)once;
}

}  // namespace anymps::backend
