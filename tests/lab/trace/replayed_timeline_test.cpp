#include "lab/trace/replayed_timeline.h"

#include <gtest/gtest.h>

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;

TraceRecord record_of(TraceKind kind, std::uint64_t end_ns, std::uint64_t length_ns, std::uint32_t thread = 1) {
  TraceRecord made;
  made.kind = kind;
  made.time_ns = end_ns;
  made.b = length_ns;
  made.thread = thread;
  return made;
}

TEST(ReplayedTimeline, IsNothingWithoutKernels) {
  TraceFile trace;
  trace.records = {record_of(TraceKind::kSync, 100, 0), record_of(TraceKind::kCall, 200, 50)};
  const ReplayedTimeline timeline = replay(trace);
  EXPECT_EQ(timeline.kernels, 0U);
  EXPECT_EQ(timeline.host_seconds, 0);
  EXPECT_EQ(timeline.busy_share(), 0);
}

// Two kernels of 100 ns, 10 ns apart on the host: the second is asked for at 10 and begins at 100. The host then asks
// for a result at 20, and waits until 200.
TEST(ReplayedTimeline, QueuesKernelsAndWaitsForThem) {
  TraceFile trace;
  trace.records = {record_of(TraceKind::kOperator, 1100, 100), record_of(TraceKind::kOperator, 1210, 100),
                   record_of(TraceKind::kSync, 1220, 0)};
  const ReplayedTimeline timeline = replay(trace);
  EXPECT_EQ(timeline.kernels, 2U);
  EXPECT_EQ(timeline.waits, 1U);
  EXPECT_NEAR(timeline.busy_seconds, 200e-9, 1e-12);
  EXPECT_NEAR(timeline.queued_seconds, 90e-9, 1e-12);
  EXPECT_NEAR(timeline.waited_seconds, 180e-9, 1e-12);
  EXPECT_NEAR(timeline.host_seconds, 200e-9, 1e-12);
  EXPECT_NEAR(timeline.busy_share(), 1, 1e-9);
}

// A host that is slower than its device: nothing is queued, nobody waits.
TEST(ReplayedTimeline, ASlowHostLeavesTheDeviceIdle) {
  TraceFile trace;
  trace.records = {record_of(TraceKind::kShader, 1010, 10), record_of(TraceKind::kShader, 2010, 10),
                   record_of(TraceKind::kSync, 3010, 0)};
  const ReplayedTimeline timeline = replay(trace);
  EXPECT_EQ(timeline.queued_seconds, 0);
  EXPECT_EQ(timeline.waited_seconds, 0);
  EXPECT_NEAR(timeline.host_seconds, 1990e-9, 1e-12);
  EXPECT_LT(timeline.busy_share(), 0.02);
}

// Behind a queue the records are what happened: 300 ns of kernels, for 120 of which the host waited.
TEST(ReplayedTimeline, TakesAQueuedRunAsItWas) {
  TraceFile trace;
  trace.facts["queue"] = "async";
  trace.records = {record_of(TraceKind::kOperator, 1100, 100, 2), record_of(TraceKind::kOperator, 1300, 200, 2),
                   record_of(TraceKind::kSync, 1310, 120)};
  const ReplayedTimeline timeline = replay(trace);
  EXPECT_STREQ(timeline.name(), "measured");
  EXPECT_NEAR(timeline.host_seconds, 310e-9, 1e-12);
  EXPECT_NEAR(timeline.waited_seconds, 120e-9, 1e-12);
  EXPECT_NEAR(timeline.overlapped_seconds(), 180e-9, 1e-12);
  EXPECT_EQ(timeline.queued_seconds, 0);
}

}  // namespace
}  // namespace anymps::lab::trace
