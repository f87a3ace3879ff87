#include "lab/runbook/decide/decide.h"

#include <gtest/gtest.h>

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

Measured healthy() {
  Measured measured;
  measured.cpu_step_seconds = 1.0;
  measured.mps_step_seconds = 0.4;
  measured.utilisation = 0.7;
  measured.memory_rise = 0.01;
  measured.drift = 1e-6;
  return measured;
}

std::string outcome_of(const Measured& measured, const DecideSettings& settings = {}) {
  return decide(measured, settings).document["decision"]["outcome"];
}

TEST(Decide, StaysOnMpsWhereAllIsWell) {
  EXPECT_EQ(decide(healthy(), {}).verdict, document::Verdict::kGood);
  EXPECT_EQ(outcome_of(healthy()), "mps");
}

TEST(Decide, LittleGainAndAnIdleDeviceMeanTheDataPlane) {
  Measured measured = healthy();
  measured.mps_step_seconds = 0.79;  // 21% less
  measured.utilisation = 0.17;
  EXPECT_EQ(outcome_of(measured), "fix the data plane and the batch first");
  measured.utilisation = 0.19;
  EXPECT_EQ(outcome_of(measured), "cpu");
  DecideSettings generous;
  generous.least_gain = 0.2;
  EXPECT_EQ(outcome_of(measured, generous), "mps");
}

TEST(Decide, GrowingMemoryAsksForARemoteMachine) {
  Measured measured = healthy();
  measured.memory_rise = 0.27;
  EXPECT_EQ(outcome_of(measured), "remote");
  EXPECT_EQ(decide(measured, {}).verdict, document::Verdict::kBad);
}

TEST(Decide, MemoryThatGoesUpAndDownDoesNot) {
  Measured measured = healthy();
  measured.memory_rise = 0.37;
  measured.memory_grows = false;
  EXPECT_EQ(outcome_of(measured), "mps");
}

TEST(Decide, DriftKeepsMpsToPreprocessing) {
  Measured measured = healthy();
  measured.drift = 0.02;
  EXPECT_EQ(outcome_of(measured), "preprocess on mps, train elsewhere");
}

TEST(Decide, TheSpeedOfASimulatedDeviceDecidesNothing) {
  Measured measured = healthy();
  measured.mps_step_seconds = 5;
  measured.simulated = true;
  const Decision decision = decide(measured, {});
  EXPECT_EQ(decision.document["decision"]["outcome"], "mps");
  EXPECT_FALSE(decision.document["thresholds"][0]["exceeded"].get<bool>());
  EXPECT_TRUE(decision.document["thresholds"][0]["value"].is_null());
  EXPECT_FALSE(decision.document["symptoms"][3]["applies"].get<bool>());
  for (const json& candidate : decision.document["candidates"]) {
    if (candidate["name"] == "mps") {
      EXPECT_TRUE(candidate["simulated"].get<bool>());
    }
  }
}

TEST(Decide, ASlowerDeviceTakesTimesAsLong) {
  Measured measured = healthy();
  measured.mps_step_seconds = 5.7;
  const Decision decision = decide(measured, {});
  EXPECT_EQ(decision.document["decision"]["outcome"], "cpu");
  const std::string why = decision.document["decision"]["why"];
  EXPECT_EQ(why.rfind("a step takes 5.7 times as long as on the CPU", 0), 0U) << why;
  const std::string evidence = decision.document["symptoms"][3]["evidence"];
  EXPECT_EQ(evidence.rfind("a step takes 5.7 times as long", 0), 0U) << evidence;
}

TEST(Decide, AnOperatorThatDoesTheArithmeticIsNoGapInTheKernels) {
  const auto one_layer_slow = [](const char* name) {
    Measured measured = healthy();
    measured.profile["operators"] = {{{"name", name}, {"self_seconds", 0.57}},
                                     {{"name", "aten::relu"}, {"self_seconds", 0.22}},
                                     {{"name", "aten::add"}, {"self_seconds", 0.21}}};
    return decide(measured, {}).document["symptoms"][1];
  };
  for (const char* name : {"aten::mps_convolution_backward", "aten::addmm"}) {
    EXPECT_EQ(one_layer_slow(name)["evidence"], "no operator stands out") << name;
  }
  EXPECT_EQ(one_layer_slow("aten::cumsum")["evidence"], "aten::cumsum: takes 57% of the device's time");
}

TEST(Decide, FallbacksNameTheOperators) {
  Measured measured = healthy();
  measured.profile["fallbacks"] = {{{"name", "aten::foo"}, {"site", "/x/train.py:12"}, {"count", 3}}};
  const Decision decision = decide(measured, {});
  EXPECT_EQ(decision.document["decision"]["outcome"], "rewrite a layer, or run it on the CPU deliberately");
  EXPECT_EQ(decision.document["holding_back"][0]["operator"], "aten::foo");
}

TEST(Decide, AllSixSymptomsAreShown) {
  Measured measured = healthy();
  measured.slowdown = 0.5;
  measured.drift = 0.5;
  measured.processes_failed = true;
  const json rows = symptoms(measured, {});
  ASSERT_EQ(rows.size(), 6U);
  std::vector<bool> applies;
  for (const json& row : rows) applies.push_back(row["applies"].get<bool>());
  EXPECT_EQ(applies, (std::vector<bool>{true, false, true, false, false, true}));
}

logbook::LoggedRun profile(std::int64_t id, const char* started, double step,
                           std::vector<std::pair<std::string, double>> operators) {
  logbook::LoggedRun run;
  run.id = id;
  run.started = started;
  auto rows = json::array();
  for (const auto& [name, seconds] : operators) rows.push_back({{"name", name}, {"self_seconds", seconds}});
  run.document = {{"full", {{"step_seconds", step}, {"steps", 1}, {"shares", {{"input", 0.05}}}}}, {"operators", rows}};
  return run;
}

TEST(Decide, TheStopRuleEndsTheTuning) {
  const auto older = profile(1, "2026-11-01T00:00:00Z", 1.0, {{"a", 0.4}, {"b", 0.3}, {"c", 0.2}, {"d", 0.01}});
  const auto newer = profile(2, "2026-11-09T00:00:00Z", 1.5, {{"a", 0.6}, {"b", 0.5}, {"c", 0.3}, {"d", 0.01}});
  const json rule = stop_rule({newer, older}, {});
  ASSERT_TRUE(rule.is_object());
  EXPECT_EQ(rule["operators"], json({"a", "b", "c"}));
  // Too near in time, in agreement, or by other operators: it goes on.
  const auto next_day = profile(3, "2026-11-02T00:00:00Z", 1.5, {{"a", 0.6}, {"b", 0.5}, {"c", 0.3}, {"d", 0.01}});
  EXPECT_TRUE(stop_rule({next_day, older}, {}).is_null());
  const auto same = profile(4, "2026-11-09T00:00:00Z", 1.01, {{"a", 0.4}, {"b", 0.3}, {"c", 0.2}, {"d", 0.02}});
  EXPECT_TRUE(stop_rule({same, older}, {}).is_null());
  const auto other = profile(5, "2026-11-09T00:00:00Z", 1.5, {{"x", 0.6}, {"b", 0.5}, {"c", 0.3}, {"a", 0.01}});
  EXPECT_TRUE(stop_rule({other, older}, {}).is_null());
}

}  // namespace
}  // namespace anymps::lab::runbook::decide
