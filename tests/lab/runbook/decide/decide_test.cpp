#include "lab/runbook/decide/decide.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace anymps::lab::runbook::decide {
namespace {

Measured healthy() {
  Measured measured;
  measured.cpu_step_seconds = 1.0;
  measured.mps_step_seconds = 0.4;
  measured.utilisation = 0.7;
  measured.memory_rise = 0.01;
  measured.drift = 1e-6;
  return measured;
}

Choice outcome_of(const Measured& measured, const DecideSettings& settings = {}) {
  return decide(measured, settings).document.decision.outcome;
}

profile::OperatorRow operator_of(const std::string& name, double seconds) {
  return {.name = name, .count = 1, .self_seconds = seconds, .queued_seconds = 0, .waited_seconds = 0};
}

TEST(Decide, StaysOnMpsWhereAllIsWell) {
  EXPECT_EQ(decide(healthy(), {}).verdict, document::Verdict::kGood);
  EXPECT_EQ(outcome_of(healthy()), Choice::kMps);
}

TEST(Decide, LittleGainAndAnIdleDeviceMeanTheDataPlane) {
  Measured measured = healthy();
  measured.mps_step_seconds = 0.79;  // 21% less
  measured.utilisation = 0.17;
  EXPECT_EQ(outcome_of(measured), Choice::kFixTheDataPlane);
  measured.utilisation = 0.19;
  EXPECT_EQ(outcome_of(measured), Choice::kCpu);
  DecideSettings generous;
  generous.least_gain = 0.2;
  EXPECT_EQ(outcome_of(measured, generous), Choice::kMps);
}

TEST(Decide, GrowingMemoryAsksForARemoteMachine) {
  Measured measured = healthy();
  measured.memory_rise = 0.27;
  EXPECT_EQ(outcome_of(measured), Choice::kRemote);
  EXPECT_EQ(decide(measured, {}).verdict, document::Verdict::kBad);
}

TEST(Decide, MemoryThatGoesUpAndDownDoesNot) {
  Measured measured = healthy();
  measured.memory_rise = 0.37;
  measured.memory_grows = false;
  EXPECT_EQ(outcome_of(measured), Choice::kMps);
}

TEST(Decide, DriftKeepsMpsToPreprocessing) {
  Measured measured = healthy();
  measured.drift = 0.02;
  EXPECT_EQ(outcome_of(measured), Choice::kPreprocessOnMps);
}

TEST(Decide, TheSpeedOfASimulatedDeviceDecidesNothing) {
  Measured measured = healthy();
  measured.mps_step_seconds = 5;
  measured.simulated = true;
  const DecideDocument document = decide(measured, {}).document;
  EXPECT_EQ(document.decision.outcome, Choice::kMps);
  EXPECT_FALSE(document.grounds->thresholds[0].exceeded);
  EXPECT_FALSE(document.grounds->thresholds[0].value);
  EXPECT_FALSE(document.grounds->symptoms[3].applies);
  const auto mps = std::ranges::find(document.grounds->candidates, Place::kMps, &Candidate::place);
  ASSERT_NE(mps, document.grounds->candidates.end());
  EXPECT_TRUE(mps->simulated);
}

TEST(Decide, ASlowerDeviceTakesTimesAsLong) {
  Measured measured = healthy();
  measured.mps_step_seconds = 5.7;
  const DecideDocument document = decide(measured, {}).document;
  EXPECT_EQ(document.decision.outcome, Choice::kCpu);
  const std::string& why = document.decision.why;
  EXPECT_TRUE(why.starts_with("a step takes 5.7 times as long as on the CPU")) << why;
  const std::string& evidence = document.grounds->symptoms[3].evidence;
  EXPECT_TRUE(evidence.starts_with("a step takes 5.7 times as long")) << evidence;
}

TEST(Decide, AnOperatorThatDoesTheArithmeticIsNoGapInTheKernels) {
  const auto evidence = [](const char* name) {
    Measured measured = healthy();
    measured.profile.operators = {operator_of(name, 0.57), operator_of("aten::relu", 0.22),
                                  operator_of("aten::add", 0.21)};
    return symptoms(measured, {})[1].evidence;
  };
  for (const char* name : {"aten::mps_convolution_backward", "aten::addmm"}) {
    EXPECT_EQ(evidence(name), "no operator stands out") << name;
  }
  EXPECT_EQ(evidence("aten::cumsum"), "aten::cumsum: takes 57% of the device's time");
}

TEST(Decide, FallbacksNameTheOperators) {
  Measured measured = healthy();
  measured.profile.fallbacks = {{.name = "aten::foo", .site = "/x/train.py:12", .count = 3}};
  const DecideDocument document = decide(measured, {}).document;
  EXPECT_EQ(document.decision.outcome, Choice::kRewriteALayer);
  ASSERT_EQ(document.grounds->holding_back.size(), 1U);
  EXPECT_EQ(document.grounds->holding_back[0].name, "aten::foo");
}

TEST(Decide, WhatTheProfileFoundDecides) {
  Measured measured = healthy();
  measured.profile.findings = {{profile::Finding::kWaits}};
  EXPECT_EQ(outcome_of(measured), Choice::kTakeTheWaitsOut);
  measured.profile.findings = {{profile::Finding::kWaits, profile::Finding::kInput}};
  EXPECT_EQ(outcome_of(measured), Choice::kFixTheDataPlane);
}

TEST(Decide, WithoutAnyStepItIsNotKnown) {
  EXPECT_EQ(decide({}, {}).verdict, document::Verdict::kUnknown);
  EXPECT_EQ(outcome_of({}), Choice::kUndecided);
  Measured measured;
  measured.cpu_step_seconds = 1;
  EXPECT_EQ(decide(measured, {}).verdict, document::Verdict::kBad);
  EXPECT_EQ(outcome_of(measured), Choice::kCpu);
}

TEST(Decide, AllSixSymptomsAreShown) {
  Measured measured = healthy();
  measured.slowdown = 0.5;
  measured.drift = 0.5;
  measured.processes_failed = true;
  std::vector<bool> applies;
  for (const Symptom& row : symptoms(measured, {})) applies.push_back(row.applies);
  EXPECT_EQ(applies, (std::vector<bool>{true, false, true, false, false, true}));
}

}  // namespace
}  // namespace anymps::lab::runbook::decide
