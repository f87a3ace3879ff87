#include "lab/runbook/sweep/section.h"

#include <gtest/gtest.h>

#include <string>

#include "lab/has_text.h"
#include "lab/runbook/sweep/swept_program.h"

namespace anymps::lab::runbook::sweep {
namespace {

// The section of one sweep.
std::string section_of(const SweepSeries& series) {
  SweepDocument document;
  document.argument = "--batch-size";
  document.series = {series};
  return sweep_section({{.document = document, .label = "run 1"}});
}

std::size_t times_in(const std::string& text, const std::string& piece) {
  std::size_t count = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++count;
  return count;
}

// What this machine has not the memory for: batch 300 and more, of which it runs 128.
SweepBounds small_machine() {
  SweepBounds bounds;
  bounds.free_bytes = 300 * kMega;
  return bounds;
}

TEST(SweepSection, AnEdgeThatWasNotRunIsAHollowPointOnADottedLine) {
  SweptProgram program(410 * kMega);  // batch 400
  const SweepSeries series = swept(program, {}, small_machine());
  ASSERT_TRUE(series.edge->extrapolated);
  const std::string section = section_of(series);
  // In the chart of memory: nobody estimated a throughput.
  EXPECT_EQ(times_in(section, "class=\"dot point guess\""), 1U);
  EXPECT_EQ(times_in(section, "class=\"line guess\""), 1U);
  EXPECT_TRUE(has(section, "batch 400, peak 410.0 MiB, extrapolated, not run"));
}

TEST(SweepSection, AnEstimatedEdgeIsMarkedInBothCharts) {
  SweptProgram program(410 * kMega);
  const std::string section = section_of(swept(program, {}, small_machine()));
  EXPECT_EQ(times_in(section, ">fits (estimated) 400</text>"), 2U);
  EXPECT_TRUE(has(section, "largest that fits, estimated"));
}

TEST(SweepSection, AnEdgeFarBeyondAllThatRanIsMarkedAndLeavesTheCurveItsRoom) {
  SweptProgram program(100'010 * kMega);
  const SweepSeries series = swept(program, {}, small_machine());
  const std::string section = section_of(series);
  EXPECT_EQ(times_in(section, "class=\"dot point guess\""), 0U);
  EXPECT_EQ(times_in(section, ">fits (estimated) " + std::to_string(series.edge->largest_good) + "</text>"), 2U);
}

TEST(SweepSection, AnEdgeThatFailedIsMarkedAsOne) {
  SweptProgram program(110 * kMega);
  const std::string section = section_of(swept(program));
  EXPECT_EQ(times_in(section, ">fails 101</text>"), 2U);
  EXPECT_EQ(times_in(section, " guess\""), 0U);
}

TEST(SweepSection, AnEdgeThatWasReachedIsNotCalledAnEstimate) {
  SweptProgram program(1010 * kMega);
  SweepBounds bounds;
  bounds.swaps_at = 210 * kMega;
  bounds.free_bytes = 400 * kMega;
  const SweepSeries series = swept(program, {}, bounds);
  ASSERT_FALSE(series.edge->smallest_bad);
  const std::string section = section_of(series);
  EXPECT_EQ(times_in(section, ">fits 194</text>"), 2U);
  EXPECT_EQ(times_in(section, " guess\""), 0U);
}

TEST(SweepSection, NotesOfASeriesAreShown) {
  SweptProgram program(410 * kMega);
  const SweepSeries series = swept(program, {}, small_machine());
  ASSERT_FALSE(series.notes.empty());
  EXPECT_TRUE(has(section_of(series), series.notes.front()));
}

}  // namespace
}  // namespace anymps::lab::runbook::sweep
