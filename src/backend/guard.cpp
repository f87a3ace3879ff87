// The device guard: one device, its streams, and events on them.
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>

#include "backend/observe/synchronize.h"
#include "backend/registration.h"
#include "backend/release/torch_release.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/event_time.h"
#include "backend/runtime/memory.h"
#include "backend/runtime/streams.h"
#include "gpu/event.h"
#include "gpu/stream.h"

namespace anymps::backend {
namespace {

// c10::Event keeps a pointer; ours are numbers from the pool, as torch.mps.Event's are.
gpu::EventId event_id_of(void* event) { return static_cast<gpu::EventId>(reinterpret_cast<std::uintptr_t>(event)); }

class MpsGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  // c10 asks guards for it by this name.
  static constexpr c10::DeviceType static_type = c10::DeviceType::MPS;  // NOLINT(readability-identifier-naming)

  MpsGuard() = default;
  explicit MpsGuard(c10::DeviceType type) {
    TORCH_CHECK(type == static_type, "MPSGuardImpl initialized with non-MPS DeviceType: ", type);
  }

  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device) const override { return runtime::kMpsDevice; }
  c10::Device getDevice() const override { return runtime::kMpsDevice; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.is_mps(), "Expected a MPS device, but got ", device);
  }
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits =
        (1ULL << c10::kIndex_Byte) | (1ULL << c10::kIndex_Char) | (1ULL << c10::kIndex_Short) |
        (1ULL << c10::kIndex_Int) | (1ULL << c10::kIndex_Long) | (1ULL << c10::kIndex_Half) |
        (1ULL << c10::kIndex_Float) | (1ULL << c10::kIndex_ComplexHalf) | (1ULL << c10::kIndex_ComplexFloat) |
        (1ULL << c10::kIndex_Bool) | (1ULL << c10::kIndex_BFloat16) | (1ULL << c10::kIndex_UInt32) |
        (1ULL << c10::kIndex_UInt16) | (1ULL << c10::kIndex_UInt64);
#if ANYMPS_DEVICE_HAS_FLOAT8
    capability.capability_data.capability_bits |= 1ULL << c10::kIndex_Float8_e4m3fn;
#endif
    return capability;
  }

  // Without a pool, whatever is asked for is the default stream. To query or to synchronise one is PyTorch's to refuse:
  // its guard of MPS does neither.
  c10::Stream getStream(c10::Device) const override {
    return runtime::as_stream(runtime::has_stream_pool() ? gpu::current_stream() : gpu::kDefaultStream);
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return runtime::as_stream(runtime::has_stream_pool() ? gpu::stream_from_pool() : gpu::kDefaultStream);
  }
  c10::Stream getDefaultStream(c10::Device) const override { return runtime::as_stream(gpu::kDefaultStream); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    const c10::Stream before = getStream(runtime::kMpsDevice);
    if (runtime::has_stream_pool()) gpu::set_current_stream(runtime::known_stream(stream.id()));
    return before;
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    if (runtime::has_stream_pool()) runtime::mps_allocator()->recordStream(data, stream);
  }
  void synchronizeDevice(c10::DeviceIndex) const override { observe::synchronize("synchronize"); }

  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    if (event != nullptr) gpu::EventPool::instance().release(event_id_of(event));
  }
  void record(void** event, const c10::Stream& stream, c10::DeviceIndex index, c10::EventFlag flag) const override {
    TORCH_CHECK(index == -1 || index == stream.device_index(), "Event device index ", index,
                " does not match recording stream's device index ", stream.device_index(), ".");
    const gpu::StreamScope on_stream(runtime::has_stream_pool() ? runtime::known_stream(stream.id())
                                                                : gpu::kDefaultStream);
    gpu::EventPool& pool = gpu::EventPool::instance();
    if (*event == nullptr) {
      *event =
          reinterpret_cast<void*>(static_cast<std::uintptr_t>(pool.acquire(flag == c10::EventFlag::BACKEND_DEFAULT)));
    }
    runtime::record_event(event_id_of(*event));
  }
  // The host waits, which is more than is asked for.
  void block(void*, const c10::Stream& stream) const override {
    if (runtime::has_stream_pool()) runtime::known_stream(stream.id());
    runtime::DeviceQueue::drain();
  }
  bool queryEvent(void* event) const override { return event == nullptr || runtime::is_reached(event_id_of(event)); }
  void synchronizeEvent(void*) const override { observe::synchronize("event synchronize"); }
  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr, "Both events must be recorded before calculating elapsed time.");
    return runtime::milliseconds_between(event_id_of(start), event_id_of(end));
  }
};

}  // namespace

void register_guard() {
  static MpsGuard guard;
  static const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::MPS, &guard);
}

}  // namespace anymps::backend
