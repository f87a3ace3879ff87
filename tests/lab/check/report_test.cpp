#include "lab/check/report.h"

#include <gtest/gtest.h>

#include "lab/check/screen.h"
#include "lab/check_traces.h"

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

trace::TraceFile faulty(std::initializer_list<std::pair<const char*, std::uint64_t>> names_and_totals) {
  trace::TraceFile trace;
  trace.pid = 1;
  trace.peak_allocated_bytes = 1;
  unsigned line = 0;
  for (const auto& [name, total] : names_and_totals) {
    trace.tallies.push_back(check_tally(TraceKind::kFinding, name, "missing.py:" + std::to_string(++line), 1, total));
  }
  return trace;
}

CheckReport check_report_of(std::vector<trace::TraceFile> traces, CheckPolicy policy = {},
                            host::ChildResult result = {}) {
  return check_report({{"python", "train.py"}, {}}, result, traces, policy);
}

TEST(CheckReport, TheSevereAndTheCostlyComeFirst) {
  const CheckReport report = check_report_of(
      {faulty({{"float64-converted", 9}, {"repeated-copy", 1}, {"cuda-device", 0}, {"repeated-copy", 5}})});
  ASSERT_EQ(report.findings.size(), 4U);
  EXPECT_EQ(report.findings[0].rule->id, "cuda-device");
  EXPECT_EQ(report.findings[1].total, 5U);
  EXPECT_EQ(report.findings[2].total, 1U);
  EXPECT_EQ(report.findings[3].severity, Severity::kNote);
  const auto groups = by_rule(report);
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[1].findings.size(), 2U);
}

TEST(CheckReport, TheVerdictSaysWhatFails) {
  EXPECT_EQ(check_report_of({faulty({})}).verdict(), "nothing found");
  EXPECT_EQ(check_report_of({faulty({{"cuda-device", 0}})}).verdict(), "1 error: not ready for a Mac");
  EXPECT_EQ(check_report_of({faulty({{"repeated-copy", 0}})}).verdict(), "1 warning: not at its best on a Mac");
  EXPECT_EQ(check_report_of({faulty({{"float64-converted", 0}})}).verdict(), "1 note, nothing that fails the check");
  EXPECT_TRUE(check_report_of({}).verdict().starts_with("nothing was checked"));
  host::ChildResult killed;
  killed.signal = 9;
  EXPECT_EQ(check_report_of({faulty({{"cuda-device", 0}})}, {}, killed).verdict(),
            "the command failed; 1 error until then");
}

TEST(CheckReport, WhatFailsIsThePolicys) {
  const auto fails = [](const char* name, CheckPolicy policy) {
    return check_report_of({faulty({{name, 0}})}, policy).has_failures();
  };
  EXPECT_TRUE(fails("repeated-copy", {false, Severity::kWarning}));
  EXPECT_FALSE(fails("repeated-copy", {false, Severity::kError}));
  EXPECT_FALSE(fails("known-mac-failure", {false, Severity::kError}));
  EXPECT_TRUE(fails("known-mac-failure", {true, Severity::kError}));
  EXPECT_FALSE(fails("cuda-device", {false, std::nullopt}));
}

TEST(CheckScreen, ColoursAreForTerminals) {
  const CheckReport report = check_report_of({faulty({{"cuda-device", 0}})});
  EXPECT_EQ(check_screen(report, {80, false}).find('\x1b'), std::string::npos);
  EXPECT_NE(check_screen(report, {80, true}).find("\x1b[31merror\x1b[0m"), std::string::npos);
}

TEST(CheckScreen, ManyPlacesAreCut) {
  trace::TraceFile trace = faulty({});
  for (unsigned i = 1; i <= 13; ++i) {
    trace.tallies.push_back(check_tally(TraceKind::kFinding, "pin-memory", "missing.py:" + std::to_string(i)));
  }
  const std::string screen = check_screen(check_report_of({trace}), {80, false});
  EXPECT_NE(screen.find("and 3 more places"), std::string::npos);
}

}  // namespace
}  // namespace anymps::lab::check
