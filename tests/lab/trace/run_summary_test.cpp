#include "lab/trace/run_summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lab/base/units.h"
#include "lab/check_traces.h"
#include "lab/has_text.h"
#include "lab/trace/run_screen.h"

namespace anymps::lab::trace {
namespace {

using gpu::trace::TraceKind;

TraceTally tally(TraceKind kind, std::string name, std::string site, std::uint64_t count, std::uint64_t first = 0) {
  TraceTally row = check_tally(kind, std::move(name), std::move(site), count);
  row.first = first;
  return row;
}

// A process that took `steps` steps of Adam, of `milliseconds` each after a slow first one.
TraceFile training(std::uint32_t pid, std::uint64_t steps, std::uint64_t milliseconds) {
  TraceFile trace;
  trace.pid = pid;
  trace.facts = {{"device", "mps"}, {"torch", "2.13.0"}, {"limit", "1073741824"}};
  trace.peak_allocated_bytes = 256U << 20;
  trace.peak_driver_bytes = 512U << 20;
  trace.tallies.push_back(tally(TraceKind::kStep, "Adam", "train.py:9", steps, 2'000'000'000));
  for (std::uint64_t i = 0; i < steps; ++i) {
    TraceRecord record;
    record.index = i;
    record.kind = TraceKind::kStep;
    record.thread = 1;
    record.name = "Adam";
    record.site = "train.py:9";
    record.a = i;
    record.b = i == 0 ? 2'000'000'000 : milliseconds * 1'000'000;
    trace.records.push_back(record);
  }
  return trace;
}

RunReport run_report_of(std::vector<TraceFile> traces) {
  RunReport report;
  report.run = summarise({{"python", "train.py"}, {}}, {}, traces);
  return report;
}

std::string screen_of(const RunReport& report, std::size_t width = 80) {
  return summary_screen(report, {width, false});
}

TEST(RunSummary, TheRateIsTheMedianWithoutTheFirstStep) {
  TraceFile trace = training(1, 101, 10);
  trace.records[50].b = 9'000'000'000;  // one pause does not move it
  const RunSummary run = run_report_of({trace}).run;
  ASSERT_EQ(run.steps.size(), 1U);
  EXPECT_EQ(run.steps[0].count, 101U);
  EXPECT_EQ(run.steps[0].intervals, 100U);
  EXPECT_DOUBLE_EQ(run.steps[0].per_second(), 100);
  EXPECT_DOUBLE_EQ(run.steps[0].first_seconds, 2);
}

TEST(RunSummary, AChosenMacIsNamed) {
  TraceFile trace = training(1, 20, 10);
  trace.facts["device"] = "Apple M2 (anymps)";
  EXPECT_FALSE(has(screen_of(run_report_of({trace})), " as "));
  trace.facts["mac"] = "m2-8gb";
  trace.facts["macos"] = "14.5";
  EXPECT_TRUE(has(screen_of(run_report_of({trace})), "Apple M2 (anymps) as m2-8gb, macOS 14.5, torch"));
}

TEST(RunSummary, CountsComeFromTheTalliesNotFromTheRing) {
  TraceFile trace = training(1, 50, 10);
  trace.tallies[0].count = 1'000'000;
  EXPECT_EQ(run_report_of({trace}).run.steps[0].count, 1'000'000U);
}

TEST(RunSummary, WhatTheScriptCallsAStepGoesFirst) {
  TraceFile trace = training(1, 50, 10);
  trace.tallies.push_back(tally(TraceKind::kStep, "step", "train.py:20", 5));
  const RunSummary run = run_report_of({trace}).run;
  ASSERT_EQ(run.steps.size(), 2U);
  EXPECT_EQ(run.steps[0].name, "step");
}

TEST(RunSummary, ProcessesAddUpTheirEventsButNotTheirSteps) {
  TraceFile first = training(1, 50, 10);
  TraceFile second = training(2, 50, 10);
  for (TraceFile* trace : {&first, &second}) {
    trace->tallies.push_back(tally(TraceKind::kSync, "item", "train.py:5", 3));
    trace->tallies.push_back(tally(TraceKind::kFallback, "aten::lu", "train.py:6", 1));
  }
  second.peak_driver_bytes = 600U << 20;
  const RunSummary run = run_report_of({first, second}).run;
  EXPECT_EQ(run.processes, 2U);
  EXPECT_EQ(run.steps[0].count, 50U);
  EXPECT_EQ(total_of(run.synchronisations), 6U);
  EXPECT_EQ(run.fallbacks.at(0).count, 2U);
  EXPECT_EQ(run.memory.driver_bytes, 600U << 20);
  EXPECT_EQ(run.memory.limit_bytes, 1U << 30);
}

TEST(RunSummary, AnUnreadableTraceIsACaveatNotAProcess) {
  TraceFile broken;
  broken.error = "it is broken";
  const RunReport report = run_report_of({broken, training(1, 3, 10)});
  EXPECT_EQ(report.run.processes, 1U);
  EXPECT_TRUE(has(screen_of(report), "it is broken"));
}

TEST(RunSummary, ComparesWithTheOtherRun) {
  RunReport report = run_report_of({training(1, 50, 10)});
  EXPECT_FALSE(report.speed_ratio());
  report.versus_arguments = "--device cpu";
  report.versus = run_report_of({training(2, 50, 15)}).run;
  ASSERT_TRUE(report.speed_ratio());
  EXPECT_NEAR(*report.speed_ratio(), 1.5, 1e-9);
  EXPECT_TRUE(has(screen_of(report), "1.50 times as fast"));
  report.versus->steps.clear();
  EXPECT_FALSE(report.speed_ratio());
  EXPECT_TRUE(has(screen_of(report), "no steps to compare"));
}

TEST(RunSummary, JsonHoldsAllOfIt) {
  RunReport report = run_report_of({training(1, 50, 10)});
  const nlohmann::json alone = to_json(report);
  EXPECT_EQ(alone["run"]["steps"][0]["per_second"], 100.0);
  EXPECT_EQ(alone["run"]["memory"]["limit_bytes"], 1073741824);
  EXPECT_TRUE(alone["run"]["signal"].is_null());
  EXPECT_FALSE(alone.contains("versus"));
  report.versus = report.run;
  report.versus_arguments = "--x";
  EXPECT_EQ(to_json(report)["versus"]["arguments"], "--x");
  EXPECT_EQ(to_json(report)["speed_ratio"], 1.0);
}

TEST(SummaryScreen, ShowsEachFigure) {
  TraceFile trace = training(1, 2001, 10);
  trace.tallies.push_back(tally(TraceKind::kSync, "item", "train.py:5", 1234));
  trace.tallies.push_back(tally(TraceKind::kFloat64, "aten::to", "", 1));
  const std::string screen = screen_of(run_report_of({trace}));
  for (const char* part :
       {"100.0 steps/s", "2,001 steps", "2 s after torch", "mps, torch 2.13.0", "256.0 MiB", "512.0 MiB",
        "50.0% of the limit of 1.0 GiB", "1,234  item  train.py:5", "aten::to  (no Python line)"}) {
    EXPECT_TRUE(has(screen, part)) << part << "\n" << screen;
  }
  EXPECT_TRUE(has(screen, "fallbacks   none")) << screen;
}

TEST(SummaryScreen, SaysOfWhichFloat64ItFoundNone) {
  EXPECT_TRUE(has(screen_of(run_report_of({training(1, 101, 10)})), "float64     none on the device"));
}

TEST(SummaryScreen, SaysWhenThereIsNothingToSay) {
  TraceFile idle = training(1, 0, 0);
  idle.tallies.clear();
  EXPECT_TRUE(has(screen_of(run_report_of({idle})), "no steps"));
  EXPECT_TRUE(has(screen_of(run_report_of({})), "no process of this run loaded the mps device"));
  EXPECT_TRUE(has(screen_of(run_report_of({training(1, 1, 0)})), "too few for a rate"));
}

TEST(SummaryScreen, WarnsOfARateThatWavers) {
  TraceFile wavering = training(1, 101, 10);
  for (std::size_t i = 1; i < 101; i += 2) wavering.records[i].b *= 3;
  EXPECT_TRUE(has(screen_of(run_report_of({wavering})), "do not rely on it"));
  EXPECT_TRUE(has(screen_of(run_report_of({training(1, 5, 10)})), "do not rely on it"));
  EXPECT_FALSE(has(screen_of(run_report_of({training(1, 101, 10)})), "do not rely on it"));
}

TEST(SummaryScreen, FitsItsWidthWhateverTheNames) {
  TraceFile trace = training(1, 100, 10);
  trace.facts["device"] = std::string(300, 'd');
  for (int i = 0; i < 9; ++i) {
    trace.tallies.push_back(tally(TraceKind::kFallback, "aten::" + std::string(static_cast<std::size_t>(i) * 20, 'n'),
                                  "/very/long/" + std::string(200, 'p') + "/träin.py:" + std::to_string(i), 10));
  }
  for (const std::size_t width : {20U, 60U, 80U, 100U, 500U}) {
    const std::string screen = screen_of(run_report_of({trace}), width);
    std::size_t column = 0;
    std::size_t widest = 0;
    for (const char c : screen) {
      if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
      column = c == '\n' ? 0 : column + 1;
      widest = std::max(widest, column);
    }
    EXPECT_LE(widest, std::clamp<std::size_t>(width, 60, 110)) << screen;
    EXPECT_TRUE(has(screen, "träin.py:0")) << screen;
    EXPECT_TRUE(has(screen, "at 4 more places")) << screen;
  }
}

TEST(SummaryScreen, IsColouredOnlyWhenAsked) {
  const RunReport report = run_report_of({training(1, 100, 10)});
  EXPECT_FALSE(has(summary_screen(report, {80, false}), "\x1b["));
  EXPECT_TRUE(has(summary_screen(report, {80, true}), "\x1b["));
}

TEST(SummaryScreen, NamesTheSignal) {
  RunReport report = run_report_of({training(1, 100, 10)});
  report.run.signal = 9;
  report.run.status = 137;
  EXPECT_TRUE(has(screen_of(report), "by SIGKILL (status 137)")) << screen_of(report);
}

TEST(HumanBytes, UsesBinaryUnits) {
  EXPECT_EQ(base::human_bytes(0), "0 B");
  EXPECT_EQ(base::human_bytes(1023), "1023 B");
  EXPECT_EQ(base::human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(base::human_bytes(~std::uint64_t{0}), "16.0 EiB");
}

// What a damaged trace claims.
TEST(HumanSeconds, MoreMinutesThanAnIntCounts) {
  EXPECT_EQ(base::human_seconds(150), "2 min 30 s");
  EXPECT_EQ(base::human_seconds(60.0 * 200'859'867'000), "200859867000 min 0 s");
}

}  // namespace
}  // namespace anymps::lab::trace
