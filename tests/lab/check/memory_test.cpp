#include "lab/check/memory.h"

#include <gtest/gtest.h>

#include "lab/check_traces.h"

namespace anymps::lab::check {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::vector<Finding> memory_findings_of(const std::vector<trace::TraceFile>& traces) {
  return memory_findings(traces, check_memory(traces));
}

bool grows(std::size_t steps, const std::function<std::uint64_t(std::size_t)>& bytes) {
  return find_rule(memory_findings_of({stepping(steps, bytes)}), "memory-growth") != nullptr;
}

TEST(CheckMemory, WhatGrowsEachStepIsFound) {
  EXPECT_TRUE(grows(12, [](std::size_t i) { return 100 * kMiB + i * kMiB; }));
  EXPECT_TRUE(grows(500, [](std::size_t i) { return 100 * kMiB + i * 4096; }));
  // Every fifth step only, as where each epoch keeps something.
  EXPECT_TRUE(grows(60, [](std::size_t i) { return 100 * kMiB + i / 5 * kMiB; }));
  // Batches of varying length on top.
  EXPECT_TRUE(grows(60, [](std::size_t i) { return 100 * kMiB + i * kMiB + i * 7 % 5 * kMiB; }));
}

TEST(CheckMemory, WhatDoesNotIsNot) {
  EXPECT_FALSE(grows(50, [](std::size_t) { return 0; }));
  EXPECT_FALSE(grows(50, [](std::size_t) { return 100 * kMiB; }));
  EXPECT_FALSE(grows(8, [](std::size_t i) { return i * kMiB; })) << "too few to tell";
  // The state of the optimiser comes with the first steps.
  EXPECT_FALSE(grows(50, [](std::size_t i) { return i < 2 ? 10 * kMiB : 30 * kMiB; }));
  // A cache fills up.
  EXPECT_FALSE(grows(50, [](std::size_t i) { return std::min<std::size_t>(i, 30) * kMiB; }));
  // Each epoch begins anew.
  EXPECT_FALSE(grows(60, [](std::size_t i) { return i % 20 * kMiB; }));
  // Batches of varying length.
  EXPECT_FALSE(grows(60, [](std::size_t i) { return 100 * kMiB + i * 7 % 11 * kMiB; }));
  // A scalar is kept for the log.
  EXPECT_FALSE(grows(100, [](std::size_t i) { return 100 * kMiB + i * 256; }));
}

TEST(CheckMemory, TheFindingSaysHowFast) {
  const auto findings = memory_findings_of({stepping(30, [](std::size_t i) { return 100 * kMiB + i * kMiB; })});
  const Finding* growth = find_rule(findings, "memory-growth");
  ASSERT_NE(growth, nullptr);
  EXPECT_EQ(growth->site, (trace::SourceSite{"train.py", 9}));
  EXPECT_EQ(growth->total, 26 * kMiB);
  EXPECT_EQ(growth->subject, "over 26 steps");
  EXPECT_EQ(growth->detail,
            "1.0 MiB more in tensors each step, from step 4 to 30; this line ends a step, and anymps plateau names the "
            "lines that keep the tensors");
}

TEST(CheckMemory, EpochsGrowToo) {
  const trace::TraceFile trace = stepping(6, [](std::size_t i) { return i * kMiB; }, gpu::trace::TraceKind::kEpoch);
  const auto findings = memory_findings_of({trace});
  ASSERT_NE(find_rule(findings, "memory-growth"), nullptr);
  EXPECT_EQ(find_rule(findings, "memory-growth")->subject, "over 4 epochs");
}

trace::TraceFile holding(std::uint64_t blocks, std::uint64_t driver) {
  trace::TraceFile trace;
  trace.peak_allocated_bytes = blocks;
  trace.peak_block_bytes = blocks;
  trace.peak_driver_bytes = driver;
  trace.facts = {{"limit", std::to_string(1700 * kMiB)}, {"recommended", std::to_string(1000 * kMiB)}};
  return trace;
}

TEST(CheckMemory, IsHeldAgainstTheMac) {
  EXPECT_TRUE(memory_findings_of({holding(800 * kMiB, 850 * kMiB)}).empty());
  EXPECT_NE(find_rule(memory_findings_of({holding(900 * kMiB, 950 * kMiB)}), "memory-near-limit"), nullptr);
  const auto beyond = memory_findings_of({holding(1800 * kMiB, 1850 * kMiB)});
  EXPECT_NE(find_rule(beyond, "memory-does-not-fit"), nullptr);
  EXPECT_EQ(find_rule(beyond, "memory-near-limit"), nullptr) << "one finding says it";
}

TEST(CheckMemory, TakingTheLimitAwayDoesNotMakeTheMacLarger) {
  trace::TraceFile trace = holding(1800 * kMiB, 1850 * kMiB);
  trace.facts["limit"] = "0";
  EXPECT_NE(find_rule(memory_findings_of({trace}), "memory-does-not-fit"), nullptr);
}

TEST(CheckMemory, TheLargestProcessCounts) {
  const CheckMemory memory = check_memory({holding(kMiB, 2 * kMiB), holding(5 * kMiB, 9 * kMiB), holding(kMiB, kMiB)});
  EXPECT_EQ(memory.driver_bytes, 9 * kMiB);
  EXPECT_EQ(memory.block_bytes, 5 * kMiB);
}

TEST(CheckMemory, FragmentsAreWhatIsHeldFarBeyondTensors) {
  EXPECT_EQ(find_rule(memory_findings_of({holding(8 * kMiB, 40 * kMiB)}), "memory-fragmentation"), nullptr);
  EXPECT_EQ(find_rule(memory_findings_of({holding(600 * kMiB, 700 * kMiB)}), "memory-fragmentation"), nullptr);
  // One heap of 1 GiB, for a buffer of 20 MiB.
  EXPECT_EQ(find_rule(memory_findings_of({holding(20 * kMiB, 1064 * kMiB)}), "memory-fragmentation"), nullptr);
  const auto findings = memory_findings_of({holding(300 * kMiB, 2048 * kMiB)});
  ASSERT_NE(find_rule(findings, "memory-fragmentation"), nullptr);
  EXPECT_EQ(find_rule(findings, "memory-fragmentation")->total, 1748 * kMiB);
}

}  // namespace
}  // namespace anymps::lab::check
