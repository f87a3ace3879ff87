#include "lab/runbook/parity/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lab/runbook/parity_runs.h"

namespace anymps::lab::runbook::parity {
namespace {

using nlohmann::json;

class ParityComparison : public ::testing::Test {
 protected:
  json compare() { return compare_runs(cpu_.run(), mps_.run(), limits_); }

  TestFolder folder_;
  MadeUpRun cpu_{folder_, "cpu"};
  MadeUpRun mps_{folder_, "mps"};
  ParityLimits limits_;
};

TEST_F(ParityComparison, FindsNothingInEqualRuns) {
  for (MadeUpRun* run : {&cpu_, &mps_}) {
    run->layer("a", "Linear", {1, 2}).gradient("a.weight", {3}).losses({0.5, 0.25});
  }
  const json comparison = compare();
  EXPECT_TRUE(comparison.at("findings").empty()) << comparison.dump();
  EXPECT_EQ(comparison.at("layers").at(0).at("max_ulps"), 0);
  EXPECT_EQ(comparison.at("steps").size(), 2U);
  EXPECT_EQ(comparison.at("steps").at(1).at("step"), 2);
  EXPECT_TRUE(comparison.at("random_from").is_null());
}

TEST_F(ParityComparison, NamesTheFirstLayerAndTheWorstGradient) {
  cpu_.layer("a", "Linear", {1}).layer("b", "GELU", {1}).layer("c", "Linear", {1});
  mps_.layer("a", "Linear", {1}).layer("b", "GELU", {1.01F}).layer("c", "Linear", {2});
  cpu_.gradient("a.weight", {1}).gradient("c.weight", {1});
  mps_.gradient("a.weight", {1.01F}).gradient("c.weight", {3});
  const json findings = compare().at("findings");
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings.at(0).get<std::string>().starts_with("layer b (GELU) differs on mps by 0.0099")) << findings;
  EXPECT_TRUE(findings.at(0).get<std::string>().ends_with("1 more layer does too")) << findings;
  EXPECT_TRUE(findings.at(1).get<std::string>().starts_with("gradient c.weight differs")) << findings;
}

TEST_F(ParityComparison, GivesShortDtypesTheirOwnSteps) {
  EXPECT_DOUBLE_EQ(limits_.relative_for(ElementKind::kFloat32), 1e-3);
  EXPECT_DOUBLE_EQ(limits_.relative_for(ElementKind::kFloat16), 8 * std::ldexp(1, -10));
}

TEST_F(ParityComparison, JudgesNothingAfterDropoutThatDiffers) {
  cpu_.layer("a", "Linear", {1}).layer("drop", "Dropout", {0, 2}).layer("b", "Linear", {1}).gradient("b.weight", {1});
  mps_.layer("a", "Linear", {1}).layer("drop", "Dropout", {2, 0}).layer("b", "Linear", {9}).gradient("b.weight", {9});
  cpu_.losses({1});
  mps_.losses({2});
  const json comparison = compare();
  EXPECT_TRUE(comparison.at("findings").empty()) << comparison.dump();
  EXPECT_EQ(comparison.at("random_from"), "drop");
  EXPECT_FALSE(comparison.at("layers").at(0).at("random"));
  EXPECT_TRUE(comparison.at("layers").at(1).at("random"));
  EXPECT_TRUE(comparison.at("layers").at(2).at("random"));
  EXPECT_TRUE(comparison.at("gradients").at(0).at("random"));
}

TEST_F(ParityComparison, JudgesBehindDropoutThatDropsNothing) {
  cpu_.layer("drop", "Dropout", {1}).layer("b", "Linear", {1});
  mps_.layer("drop", "Dropout", {1}).layer("b", "Linear", {9});
  const json comparison = compare();
  EXPECT_TRUE(comparison.at("random_from").is_null());
  EXPECT_EQ(comparison.at("findings").size(), 1U);
}

TEST_F(ParityComparison, FindsLayersOfOneDeviceAndOtherShapes) {
  cpu_.layer("a", "Linear", {1}).layer("b", "Linear", {1, 2});
  mps_.layer("b", "Linear", {1}).layer("c", "ReLU", {1});
  const json findings = compare().at("findings");
  EXPECT_EQ(findings, json({"layer a (Linear) is on cpu only", "layer b has shape [2] on cpu and [1] on mps",
                            "layer c (ReLU) is on mps only"}));
}

TEST_F(ParityComparison, FindsDtypesThatDiffer) {
  cpu_.layer("a", "Linear", {1}).module("a", "Linear", "float32");
  mps_.layer("a", "Linear", {1}).module("a", "Linear", "float32");
  mps_.run().values.at(0).dtype = "float16";
  EXPECT_EQ(compare().at("findings"), json({"layer a is float32 on cpu and float16 on mps"}));
  const json policy = dtype_policy({cpu_.run(), mps_.run()});
  ASSERT_EQ(policy.size(), 1U);
  EXPECT_EQ(policy.at(0).at("weight"), "float32");
  EXPECT_EQ(policy.at(0).at("output"), "cpu: float32; mps: float16");
  EXPECT_TRUE(policy.at(0).at("disagree"));
}

TEST_F(ParityComparison, KnowsTheDtypesOfGradientsByLayer) {
  cpu_.module("", "Linear", "float32").module("net.0", "Conv2d", "float32");
  cpu_.run().modules.push_back({{"name", ""}, {"kind", "CrossEntropyLoss"}, {"weight", nullptr}});
  cpu_.gradient("net.0.weight", {1}).gradient("bias", {1});
  const json policy = dtype_policy({cpu_.run()});
  ASSERT_EQ(policy.size(), 2U);
  EXPECT_EQ(policy.at(0).at("kind"), "Conv2d");
  EXPECT_EQ(policy.at(0).at("gradient"), "float32");
  EXPECT_EQ(policy.at(1).at("gradient"), "float32");
  EXPECT_FALSE(policy.at(1).at("disagree"));
}

TEST_F(ParityComparison, FindsElementsThatAreNoNumbersOnOneDevice) {
  cpu_.layer("a", "Linear", {1, 2});
  mps_.layer("a", "Linear", {1, std::numeric_limits<float>::quiet_NaN()});
  const json findings = compare().at("findings");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.at(0), "layer a (Linear) has 1 element that only one of cpu and mps has finite");
}

TEST_F(ParityComparison, FollowsTheDrift) {
  cpu_.losses({1, 1, 1, 1, 1});
  mps_.losses({1 + 1e-6, 1 + 1e-5, 1 + 1e-4, 1 + 1e-3, 1 + 1e-1});
  const json comparison = compare();
  ASSERT_EQ(comparison.at("findings").size(), 1U);
  EXPECT_EQ(comparison.at("findings").at(0), "the loss on mps is 0.0909 apart from that on cpu at step 5 (limit 0.01)");
  EXPECT_NEAR(comparison.at("drift").at("decades_per_step").get<double>(), 1.19, 0.02);
}

TEST_F(ParityComparison, AddsUpTheLossesOfAStep) {
  cpu_.losses({1}).run().losses.push_back({0, 2, "float32"});
  mps_.losses({1}).run().losses.push_back({0, 2, "float32"});
  EXPECT_EQ(compare().at("steps").at(0).at("loss"), 3);
}

TEST_F(ParityComparison, FindsALossThatIsNoNumberOnOneDevice) {
  cpu_.losses({1, 1});
  mps_.losses({1, std::numeric_limits<double>::quiet_NaN()});
  const json comparison = compare();
  EXPECT_EQ(comparison.at("findings"), json({"the loss of step 2 is 1 on cpu and nan on mps"}));
  EXPECT_TRUE(comparison.at("steps").at(1).at("loss").is_null());
}

TEST_F(ParityComparison, FindsMissingSteps) {
  cpu_.losses({1, 1});
  mps_.losses({1});
  EXPECT_EQ(compare().at("findings"), json({"the script took 2 steps on cpu and 1 on mps"}));
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
