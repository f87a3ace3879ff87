#include "lab/trace/summary.h"

#include <gtest/gtest.h>

namespace anymps::lab::trace {
namespace {

TraceTally tally(gpu::trace::TraceKind kind, const char* name) {
  TraceTally made;
  made.kind = kind;
  made.name = name;
  made.count = 1;
  made.total = 1000;
  return made;
}

TEST(TraceSummary, WhatFellBackWasNotOnTheDevice) {
  TraceFile trace;
  trace.tallies = {tally(gpu::trace::TraceKind::kOperator, "aten::mul"),
                   tally(gpu::trace::TraceKind::kOperator, "aten::poisson"),
                   tally(gpu::trace::TraceKind::kFallback, "aten::poisson")};
  const TraceSummary summary = summarise_trace({trace});
  ASSERT_EQ(summary.kernels.size(), 1U);
  EXPECT_EQ(summary.kernels.front().name, "aten::mul");
  ASSERT_EQ(summary.fallbacks.size(), 1U);
}

}  // namespace
}  // namespace anymps::lab::trace
