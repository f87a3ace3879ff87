#include "lab/replayed_timeline.h"

#include <algorithm>
#include <map>

namespace anymps::lab {
namespace {

constexpr double kSecond = 1e-9;

// A thread's clock without its kernels, and with its waits.
struct Host {
  std::int64_t shift = 0;  // of the modelled clock against the measured one
};

}  // namespace

ReplayedTimeline replay(const TraceFile& trace) {
  ReplayedTimeline timeline;
  std::map<std::uint32_t, Host> hosts;
  std::int64_t device_free = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t busy = 0;
  std::int64_t queued = 0;
  std::int64_t waited = 0;
  bool any = false;
  for (const TraceRecord& record : trace.records) {
    Host& host = hosts[record.thread];
    const auto time = static_cast<std::int64_t>(record.time_ns);
    const auto length = static_cast<std::int64_t>(record.b);
    if (record.kind == gpu::TraceKind::kOperator || record.kind == gpu::TraceKind::kShader) {
      const std::int64_t asked = time - length + host.shift;
      if (!any) first = asked;
      any = true;
      const std::int64_t start = std::max(asked, device_free);
      queued += start - asked;
      device_free = start + length;
      busy += length;
      host.shift -= length;
      ++timeline.kernels;
      last = std::max({last, asked, device_free});
    } else if (record.kind == gpu::TraceKind::kSync && any) {
      const std::int64_t here = time + host.shift;
      const std::int64_t wait = std::max<std::int64_t>(0, device_free - here);
      waited += wait;
      host.shift += wait;
      ++timeline.waits;
      last = std::max(last, here + wait);
    }
  }
  timeline.host_seconds = static_cast<double>(last - first) * kSecond;
  timeline.busy_seconds = static_cast<double>(busy) * kSecond;
  timeline.queued_seconds = static_cast<double>(queued) * kSecond;
  timeline.waited_seconds = static_cast<double>(waited) * kSecond;
  return timeline;
}

}  // namespace anymps::lab
