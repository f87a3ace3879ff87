#include "backend/runtime/event_time.h"

#include <c10/util/Exception.h>

namespace anymps::backend::runtime {

gpu::Event event_in_use(gpu::EventId id) {
  gpu::Event event;
  TORCH_CHECK(gpu::EventPool::instance().lookup(id, event), "Invalid Event ID: ", id);
  return event;
}

double milliseconds_between(gpu::EventId start, gpu::EventId end) {
  const gpu::Event first = event_in_use(start);
  const gpu::Event last = event_in_use(end);
  TORCH_CHECK(first.completed_at > 0 && last.completed_at > 0,
              "Events were not created with argument 'enable_timing=True'");
  TORCH_CHECK(last.completed_at > first.completed_at, "End event ", end, " was not recorded after start event ", start);
  constexpr double kMillisecondsPerNanosecond = 1e-6;
  return static_cast<double>(last.completed_at - first.completed_at) * kMillisecondsPerNanosecond;
}

}  // namespace anymps::backend::runtime
