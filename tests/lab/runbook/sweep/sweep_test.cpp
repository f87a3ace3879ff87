#include "lab/runbook/sweep/sweep.h"

#include <gtest/gtest.h>

#include "lab/runbook/sweep/swept_program.h"

namespace anymps::lab::runbook::sweep {
namespace {

TEST(Sweep, FindsTheKneeAndTheEdge) {
  SweptProgram program(110 * kMega);  // batch 100 is the largest
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.knee->batch, 16U);
  EXPECT_EQ(series.edge->largest_good, 100U);
  EXPECT_EQ(series.edge->smallest_bad, 101U);
  EXPECT_FALSE(series.edge->extrapolated);
  EXPECT_EQ(series.recommended->batch, 16U);
}

TEST(Sweep, RecommendsOnlyWhatRanAgainForLonger) {
  SweptProgram program(110 * kMega);
  program.fails_for_long = true;
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.recommended->batch, 8U);
  EXPECT_EQ(program.calls.back(), std::pair(std::uint64_t{8}, SweepSettings{}.verify_steps));
  EXPECT_FALSE(series.notes.empty());
}

TEST(Sweep, LeavesAMargin) {
  SweptProgram program(24 * kMega);  // batch 14 is the largest, and 10 leaves 15% free
  SweepSettings settings;
  settings.knee = 1;
  const SweepSeries series = swept(program, settings);
  EXPECT_EQ(series.edge->largest_good, 14U);
  EXPECT_EQ(series.recommended->batch, 8U);
}

TEST(Sweep, ExtrapolatesBeyondThisMachine) {
  SweptProgram program(1010 * kMega);  // batch 1000, which this machine has not the memory for
  SweepBounds bounds;
  bounds.free_bytes = 300 * kMega;
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_TRUE(series.edge->extrapolated);
  EXPECT_NEAR(static_cast<double>(series.edge->largest_good), 1000, 10);
  for (const auto& [batch, _] : program.calls) EXPECT_LE(batch, 128U);
  EXPECT_EQ(series.recommended->batch, 16U);
}

TEST(Sweep, AMacSwapsBeforePyTorchRefuses) {
  SweptProgram program(1010 * kMega);
  SweepSettings settings;
  settings.to = 64;
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  const SweepSeries series = swept(program, settings, bounds);
  EXPECT_NEAR(static_cast<double>(series.edge->largest_good), 200, 2);
}

TEST(Sweep, WhatWouldSwapIsBeyondTheEdge) {
  SweptProgram program(1010 * kMega);
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_EQ(series.edge->largest_good, 200U);
  EXPECT_EQ(series.edge->smallest_bad, 201U);
  for (const SweepPoint& point : series.points)
    EXPECT_EQ(point.outcome, point.batch > 200 ? document::Outcome::kWouldSwap : document::Outcome::kRan);
}

TEST(Sweep, GoesUpToTheEdgeWhereTwiceAsMuchIsTooMuchForThisMachine) {
  SweptProgram program(1010 * kMega);
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  bounds.free_bytes = 400 * kMega;  // enough for the edge, and not for a batch of 256
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_FALSE(series.edge->extrapolated);
  EXPECT_EQ(series.edge->largest_good, 194U);
  EXPECT_FALSE(series.edge->smallest_bad);
}

TEST(Sweep, NothingIsRecommendedWhereNothingRuns) {
  SweptProgram program(kMega);
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.points.size(), 1U);
  EXPECT_FALSE(series.knee);
  EXPECT_FALSE(series.recommended);
}

TEST(Sweep, ADocumentComesBackFromItsJson) {
  SweptProgram program(110 * kMega);
  SweepDocument sweep;
  sweep.argument = "--batch-size";
  sweep.mac = "m1-8gb";
  sweep.series = {swept(program)};
  sweep.series.front().axes = {{"workers", "2"}};
  const nlohmann::json json = document::to_json(sweep);
  EXPECT_EQ(json["series"][0]["edge"]["smallest_bad"], 101);
  EXPECT_EQ(document::to_json(document::described_from<SweepDocument>(json)), json);
}

}  // namespace
}  // namespace anymps::lab::runbook::sweep
