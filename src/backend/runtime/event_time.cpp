#include "backend/runtime/event_time.h"

#include <c10/util/Exception.h>

#include <cstdint>

#include "backend/runtime/device_queue.h"

namespace anymps::backend::runtime {

gpu::Event event_in_use(gpu::EventId id) {
  gpu::Event event;
  TORCH_CHECK(gpu::EventPool::instance().lookup(id, event), "Invalid Event ID: ", id);
  return event;
}

void record_event(gpu::EventId id) {
  const std::uint64_t recording = gpu::EventPool::instance().record(id);
  TORCH_CHECK(recording != 0, "Invalid Event ID: ", id);
  const auto reach = [id, recording] { gpu::EventPool::instance().reach(id, recording); };
  if (DeviceQueue::is_idle()) return reach();
  DeviceQueue::encode(0, reach);
  DeviceQueue::flush();
}

bool is_reached(gpu::EventId id) {
  DeviceQueue::let_run();
  return event_in_use(id).reached;
}

double milliseconds_between(gpu::EventId start, gpu::EventId end) {
  DeviceQueue::drain();
  const gpu::Event first = event_in_use(start);
  const gpu::Event last = event_in_use(end);
  TORCH_CHECK(first.completed_at > 0 && last.completed_at > 0,
              "Events were not created with argument 'enable_timing=True'");
  TORCH_CHECK(last.completed_at > first.completed_at, "End event ", end, " was not recorded after start event ", start);
  constexpr double kMillisecondsPerNanosecond = 1e-6;
  return static_cast<double>(last.completed_at - first.completed_at) * kMillisecondsPerNanosecond;
}

}  // namespace anymps::backend::runtime
