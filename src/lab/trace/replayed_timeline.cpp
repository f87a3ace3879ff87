#include "lab/trace/replayed_timeline.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/base/nanosecond.h"

namespace anymps::lab::trace {

namespace {

bool was_queued(const TraceFile& trace) {
  const auto queue = trace.facts.find("queue");
  return queue != trace.facts.end() && queue->second == "async";
}

// The records as they are: kernels ran when they say, and each wait has its length.
ReplayedTimeline measured(const TraceFile& trace) {
  ReplayedTimeline timeline{.measured = true};
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  for (const TraceRecord& record : trace.records) {
    const double seconds = static_cast<double>(record.b) * base::kNanosecond;
    if (record.kind == gpu::trace::TraceKind::kOperator || record.kind == gpu::trace::TraceKind::kShader) {
      if (timeline.kernels == 0) first = record.time_ns - record.b;
      last = std::max(last, record.time_ns);
      ++timeline.kernels;
      timeline.busy_seconds += seconds;
      ReplayedOperator& times = timeline.operators[record.name];
      ++times.count;
      times.self_seconds += seconds;
    } else if (record.kind == gpu::trace::TraceKind::kSync && timeline.kernels != 0) {
      last = std::max(last, record.time_ns);
      ++timeline.waits;
      timeline.waited_seconds += seconds;
    }
  }
  timeline.host_seconds = static_cast<double>(last - first) * base::kNanosecond;
  return timeline;
}

ReplayedTimeline modelled(const TraceFile& trace) {
  ReplayedTimeline timeline;
  // Of each thread's modelled clock, without its kernels and with its waits, against the measured one.
  std::map<std::uint32_t, std::int64_t> shifts;
  std::int64_t device_free = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t busy = 0;
  std::int64_t queued = 0;
  std::int64_t waited = 0;
  bool any = false;
  ReplayedOperator* latest = nullptr;
  for (const TraceRecord& record : trace.records) {
    std::int64_t& shift = shifts[record.thread];
    const auto time = static_cast<std::int64_t>(record.time_ns);
    const auto length = static_cast<std::int64_t>(record.b);
    if (record.kind == gpu::trace::TraceKind::kOperator || record.kind == gpu::trace::TraceKind::kShader) {
      const std::int64_t asked = time - length + shift;
      if (!any) first = asked;
      any = true;
      const std::int64_t start = std::max(asked, device_free);
      queued += start - asked;
      device_free = start + length;
      busy += length;
      shift -= length;
      ++timeline.kernels;
      latest = &timeline.operators[record.name];
      ++latest->count;
      latest->self_seconds += static_cast<double>(length) * base::kNanosecond;
      latest->queued_seconds += static_cast<double>(start - asked) * base::kNanosecond;
      last = std::max({last, asked, device_free});
    } else if (record.kind == gpu::trace::TraceKind::kSync && any) {
      const std::int64_t here = time + shift;
      const std::int64_t wait = std::max<std::int64_t>(0, device_free - here);
      waited += wait;
      shift += wait;
      ++timeline.waits;
      latest->waited_seconds += static_cast<double>(wait) * base::kNanosecond;
      last = std::max(last, here + wait);
    }
  }
  timeline.host_seconds = static_cast<double>(last - first) * base::kNanosecond;
  timeline.busy_seconds = static_cast<double>(busy) * base::kNanosecond;
  timeline.queued_seconds = static_cast<double>(queued) * base::kNanosecond;
  timeline.waited_seconds = static_cast<double>(waited) * base::kNanosecond;
  return timeline;
}

}  // namespace

ReplayedTimeline replay(const TraceFile& trace) { return was_queued(trace) ? measured(trace) : modelled(trace); }

nlohmann::json to_json(const ReplayedTimeline& timeline) {
  return {{"overlapped_seconds", timeline.overlapped_seconds()},
          {"host_seconds", timeline.host_seconds},
          {"busy_seconds", timeline.busy_seconds},
          {"busy_share", timeline.busy_share()},
          {"queued_seconds", timeline.queued_seconds},
          {"waited_seconds", timeline.waited_seconds},
          {"kernels", timeline.kernels},
          {"waits", timeline.waits}};
}

}  // namespace anymps::lab::trace
