#include "lab/check/findings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/history/refusal_history.h"
#include "lab/check_traces.h"

namespace anymps::lab::check {
namespace {

using gpu::trace::TraceKind;

std::vector<Finding> recorded_in(const std::vector<trace::TraceFile>& traces) {
  std::vector<std::string> caveats;
  return recorded_findings(traces, caveats);
}

TEST(CheckFindings, ProcessesAreAddedUp) {
  trace::TraceFile trace;
  trace.tallies.push_back(check_tally(TraceKind::kFinding, "repeated-copy\tx", "a.py:3", 2, 100));
  trace.tallies.push_back(check_tally(TraceKind::kFinding, "repeated-copy\tx", "a.py:4", 1, 100));
  const auto findings = recorded_in({trace, trace});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].subject, "x");
  EXPECT_EQ(findings[0].site, (trace::SourceSite{"a.py", 3}));
  EXPECT_EQ(findings[0].count, 4U);
  EXPECT_EQ(findings[0].total, 200U);
}

TEST(CheckFindings, AnUnknownRuleIsACaveat) {
  trace::TraceFile trace;
  trace.tallies.push_back(check_tally(TraceKind::kFinding, "from-the-future\tx", "a.py:3"));
  std::vector<std::string> caveats;
  EXPECT_TRUE(recorded_findings({trace}, caveats).empty());
  ASSERT_EQ(caveats.size(), 1U);
  EXPECT_NE(caveats[0].find("from-the-future"), std::string::npos);
}

TEST(CheckFindings, OlderKindsHaveRules) {
  trace::TraceFile trace;
  trace.tallies.push_back(check_tally(TraceKind::kFallback, "aten::_linalg_eigh", "a.py:1", 3, 4096));
  trace.tallies.push_back(check_tally(TraceKind::kFloat64, "to", "a.py:2"));
  trace.tallies.push_back(check_tally(TraceKind::kOutOfMemory, "", "a.py:3", 1, 5));
  const auto findings = recorded_in({trace});
  ASSERT_NE(find_rule(findings, "fallback-operator"), nullptr);
  EXPECT_EQ(find_rule(findings, "fallback-operator")->total, 4096U);
  EXPECT_NE(find_rule(findings, "float64-refused"), nullptr);
  EXPECT_NE(find_rule(findings, "out-of-memory"), nullptr);
}

TEST(CheckFindings, AWaitIsFoundWhereItComesOftenAndInTheLoop) {
  const auto waits = [](std::uint64_t count, std::size_t steps, const char* name = "item") {
    trace::TraceFile trace = stepping(steps, [](std::size_t) { return 0; });
    trace.tallies.push_back(check_tally(TraceKind::kSync, name, "a.py:5", count));
    return find_rule(recorded_in({trace}), "synchronisation") != nullptr;
  };
  EXPECT_TRUE(waits(8, 0));
  EXPECT_FALSE(waits(7, 0));
  EXPECT_TRUE(waits(25, 100));
  EXPECT_FALSE(waits(24, 100));
  EXPECT_FALSE(waits(100, 100, "synchronize"));
}

// Twenty steps, and a line that waits so many times after each `every`th.
std::vector<Finding> waiting(std::size_t every, std::size_t times) {
  trace::TraceFile trace = stepping(20, [](std::size_t) { return 0; });
  std::vector<trace::TraceRecord> records;
  trace::TraceRecord wait;
  wait.kind = TraceKind::kSync;
  wait.site = "a.py:5";
  for (const trace::TraceRecord& step : trace.records) {
    records.push_back(step);
    if ((step.a + 1) % every == 0) records.insert(records.end(), times, wait);
  }
  trace.records = records;
  trace.tallies.push_back(check_tally(TraceKind::kSync, "copy to cpu", "a.py:5", 20 / every * times));
  return recorded_in({trace});
}

TEST(CheckFindings, ACheckpointIsOneWaitHoweverManyTensorsItHas) {
  EXPECT_EQ(find_rule(waiting(20, 300), "synchronisation"), nullptr);
  EXPECT_EQ(find_rule(waiting(5, 50), "synchronisation"), nullptr);
  EXPECT_NE(find_rule(waiting(4, 50), "synchronisation"), nullptr);
  EXPECT_NE(find_rule(waiting(1, 1), "synchronisation"), nullptr);
}

TEST(CheckFindings, TheWaitsOfALineAreOneFinding) {
  trace::TraceFile trace;
  trace.tallies.push_back(check_tally(TraceKind::kSync, "item", "a.py:5", 4, 10));
  trace.tallies.push_back(check_tally(TraceKind::kSync, "copy to cpu", "a.py:5", 4, 10));
  trace.tallies.push_back(check_tally(TraceKind::kSync, "item", "", 100));
  const auto findings = recorded_in({trace});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].subject, "copy to cpu, item");
  EXPECT_EQ(findings[0].count, 8U);
  EXPECT_EQ(findings[0].total, 20U);
}

TEST(CheckFindings, AnOperatorsReleaseIsTold) {
  EXPECT_EQ(operator_arrival("aten::add.Tensor", "2.13.0"), "");
  EXPECT_EQ(operator_arrival("aten::no_such_operator", "2.13.0"), "");
  EXPECT_EQ(operator_arrival("aten::cholesky_inverse", "2.7.0"), "runs on MPS from PyTorch 2.11.0 on");
  EXPECT_EQ(operator_arrival("aten::cholesky_inverse", "2.7.0+cpu"), "runs on MPS from PyTorch 2.11.0 on");
  EXPECT_EQ(operator_arrival("aten::linalg_eig", "2.13.0"), "on MPS in no release of PyTorch up to 2.15.0");
  // grid_sampler_3d.out runs in every release; the other overload is meant.
  EXPECT_EQ(operator_arrival("aten::grid_sampler_3d", "2.8"), "runs on MPS from PyTorch 2.9.0 on");
}

// Of a program with PyTorch 2.13.0, checked as another release.
trace::TraceFile checked_as(const char* simulated) {
  trace::TraceFile trace;
  trace.facts = {{"torch", "2.13.0+cpu"}, {"as torch", simulated}};
  trace.tallies = {check_tally(TraceKind::kFinding, "removed-operator\taten::qr", "a.py:1"),
                   check_tally(TraceKind::kFinding, "upgrade-gain\taten::_linalg_eigh", "a.py:2"),
                   check_tally(TraceKind::kFinding, "refused-operator\taten::grid_sampler_3d", "a.py:3"),
                   check_tally(TraceKind::kFinding, "refused-operator\taten::linalg_eig", "a.py:4"),
                   check_tally(TraceKind::kFinding, "pin-memory", "a.py:5")};
  return trace;
}

TEST(CheckFindings, AnUpgradeIsToldFindingByFinding) {
  const auto effects = [](const trace::TraceFile& trace) {
    std::string text;
    for (const Finding& finding : recorded_in({trace})) {
      text += finding.subject + "=" + std::string(to_text(finding.upgrade)) + " ";
    }
    return text;
  };
  // Findings come in the order of their rules' names.
  EXPECT_EQ(effects(checked_as("2.8")),
            "= aten::grid_sampler_3d=breaks aten::linalg_eig= aten::qr=breaks aten::_linalg_eigh=gains ");
  EXPECT_EQ(effects(checked_as("2.13")), "= aten::grid_sampler_3d= aten::linalg_eig= aten::qr= aten::_linalg_eigh= ");
  const auto findings = recorded_in({checked_as("2.8")});
  EXPECT_EQ(find_rule(findings, "refused-operator")->detail,
            "runs on MPS from PyTorch 2.9.0 on; PyTorch 2.13.0, which is installed, runs it");
}

TEST(CheckFindings, ArgumentsThatAnUpgradeRefusesAreToldByTheirText) {
  const auto row = std::ranges::find_if(gpu::history::refusal_histories(), [](const auto& one) {
    return one.concerns("2.15.0") && one.concerns("2.13.0") && one.text.find('{') == one.text.npos;
  });
  ASSERT_NE(row, gpu::history::refusal_histories().end());
  const std::string name(row->operators.substr(0, row->operators.find(',')));
  trace::TraceFile trace = checked_as("2.15");
  trace.tallies = {
      check_tally(TraceKind::kFinding, "refused-arguments\taten::" + name + ": " + std::string(row->text), "a.py:1")};
  EXPECT_EQ(recorded_in({trace}).front().upgrade, UpgradeEffect::kNone);
  // Of 2.10 it is not known what it refuses: nothing is said to be new since.
  trace.facts["torch"] = "2.10.0";
  EXPECT_EQ(recorded_in({trace}).front().upgrade, UpgradeEffect::kNone);
}

TEST(SourceSite, IsParsedFromItsEnd) {
  EXPECT_EQ(trace::SourceSite::parse("/a:b/c.py:12"), (trace::SourceSite{"/a:b/c.py", 12}));
  EXPECT_EQ(trace::SourceSite::parse("c.py"), (trace::SourceSite{"c.py", 0}));
  EXPECT_EQ(trace::SourceSite::parse("c.py:x"), (trace::SourceSite{"c.py:x", 0}));
  EXPECT_EQ(trace::SourceSite::parse(""), trace::SourceSite{});
  EXPECT_TRUE(trace::SourceSite::parse("study.ipynb[cell 3]:2").in_notebook());
  EXPECT_EQ(trace::SourceSite::parse("study.ipynb[cell 3]:2").line, 2U);
}

}  // namespace
}  // namespace anymps::lab::check
