#include "lab/runbook/sweep/sweep.h"

#include <gtest/gtest.h>

#include "lab/runbook/sweep/swept_program.h"

namespace anymps::lab::runbook::sweep {
namespace {

TEST(Sweep, FindsTheKneeAndTheEdge) {
  SweptProgram program(110 * kMega);  // batch 100 is the largest
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.knee["batch"], 16);
  EXPECT_EQ(series.edge["largest_good"], 100);
  EXPECT_EQ(series.edge["smallest_bad"], 101);
  EXPECT_FALSE(series.edge["extrapolated"].get<bool>());
  EXPECT_EQ(series.recommended["batch"], 16);
}

TEST(Sweep, RecommendsOnlyWhatRanAgainForLonger) {
  SweptProgram program(110 * kMega);
  program.fails_for_long = true;
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.recommended["batch"], 8);
  EXPECT_EQ(program.calls.back(), std::pair(std::uint64_t{8}, SweepSettings{}.verify_steps));
  EXPECT_FALSE(series.notes.empty());
}

TEST(Sweep, LeavesAMargin) {
  SweptProgram program(24 * kMega);  // batch 14 is the largest, and 10 leaves 15% free
  SweepSettings settings;
  settings.knee = 1;
  const SweepSeries series = swept(program, settings);
  EXPECT_EQ(series.edge["largest_good"], 14);
  EXPECT_EQ(series.recommended["batch"], 8);
}

TEST(Sweep, ExtrapolatesBeyondThisMachine) {
  SweptProgram program(1010 * kMega);  // batch 1000, which this machine has not the memory for
  SweepBounds bounds;
  bounds.free_bytes = 300 * kMega;
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_TRUE(series.edge["extrapolated"].get<bool>());
  EXPECT_NEAR(series.edge["largest_good"].get<double>(), 1000, 10);
  for (const auto& [batch, _] : program.calls) EXPECT_LE(batch, 128U);
  EXPECT_EQ(series.recommended["batch"], 16);
}

TEST(Sweep, AMacSwapsBeforePyTorchRefuses) {
  SweptProgram program(1010 * kMega);
  SweepSettings settings;
  settings.to = 64;
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  const SweepSeries series = swept(program, settings, bounds);
  EXPECT_NEAR(series.edge["largest_good"].get<double>(), 200, 2);
}

TEST(Sweep, WhatWouldSwapIsBeyondTheEdge) {
  SweptProgram program(1010 * kMega);
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_EQ(series.edge["largest_good"], 200);
  EXPECT_EQ(series.edge["smallest_bad"], 201);
  for (const SweepPoint& point : series.points) EXPECT_EQ(point.outcome, point.batch > 200 ? "would swap" : "ran");
}

TEST(Sweep, GoesUpToTheEdgeWhereTwiceAsMuchIsTooMuchForThisMachine) {
  SweptProgram program(1010 * kMega);
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  bounds.free_bytes = 400 * kMega;  // enough for the edge, and not for a batch of 256
  const SweepSeries series = swept(program, {}, bounds);
  EXPECT_FALSE(series.edge["extrapolated"].get<bool>());
  EXPECT_EQ(series.edge["largest_good"], 194);
  EXPECT_TRUE(series.edge["smallest_bad"].is_null());
}

TEST(Sweep, NothingIsRecommendedWhereNothingRuns) {
  SweptProgram program(kMega);
  const SweepSeries series = swept(program);
  EXPECT_EQ(series.points.size(), 1U);
  EXPECT_TRUE(series.knee.is_null());
  EXPECT_TRUE(series.recommended.is_null());
}

TEST(Sweep, APointComesBackFromItsJson) {
  SweptProgram program(110 * kMega);
  const SweepPoint point = program(7, 20);
  EXPECT_EQ(to_json(sweep_point_from(to_json(point))), to_json(point));
}

}  // namespace
}  // namespace anymps::lab::runbook::sweep
