#include "lab/runbook/parity/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lab/runbook/parity_runs.h"

namespace anymps::lab::runbook::parity {
namespace {

using Findings = std::vector<std::string>;

class ParityComparison : public ::testing::Test {
 protected:
  Comparison compare() { return compare_runs(cpu_.run(), mps_.run(), limits_); }

  TestFolder folder_;
  MadeUpRun cpu_{folder_, "cpu"};
  MadeUpRun mps_{folder_, "mps"};
  ParityLimits limits_;
};

TEST_F(ParityComparison, FindsNothingInEqualRuns) {
  for (MadeUpRun* run : {&cpu_, &mps_}) {
    run->layer("a", "Linear", {1, 2}).gradient("a.weight", {3}).losses({0.5, 0.25});
  }
  const Comparison comparison = compare();
  EXPECT_EQ(comparison.findings, Findings());
  EXPECT_EQ(comparison.layers.at(0).max_ulps, 0U);
  ASSERT_EQ(comparison.steps.size(), 2U);
  EXPECT_EQ(comparison.steps[1].step, 2U);
  EXPECT_FALSE(comparison.random_from);
}

TEST_F(ParityComparison, NamesTheFirstLayerAndTheWorstGradient) {
  cpu_.layer("a", "Linear", {1}).layer("b", "GELU", {1}).layer("c", "Linear", {1});
  mps_.layer("a", "Linear", {1}).layer("b", "GELU", {1.01F}).layer("c", "Linear", {2});
  cpu_.gradient("a.weight", {1}).gradient("c.weight", {1});
  mps_.gradient("a.weight", {1.01F}).gradient("c.weight", {3});
  const Findings findings = compare().findings;
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_TRUE(findings[0].starts_with("layer b (GELU) differs on mps by 0.0099")) << findings[0];
  EXPECT_TRUE(findings[0].ends_with("1 more layer does too")) << findings[0];
  EXPECT_TRUE(findings[1].starts_with("gradient c.weight differs")) << findings[1];
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
  const Comparison comparison = compare();
  EXPECT_EQ(comparison.findings, Findings());
  EXPECT_EQ(comparison.random_from, "drop");
  EXPECT_FALSE(comparison.layers.at(0).random);
  EXPECT_TRUE(comparison.layers.at(1).random);
  EXPECT_TRUE(comparison.layers.at(2).random);
  EXPECT_TRUE(comparison.gradients.at(0).random);
}

TEST_F(ParityComparison, JudgesBehindDropoutThatDropsNothing) {
  cpu_.layer("drop", "Dropout", {1}).layer("b", "Linear", {1});
  mps_.layer("drop", "Dropout", {1}).layer("b", "Linear", {9});
  const Comparison comparison = compare();
  EXPECT_FALSE(comparison.random_from);
  EXPECT_EQ(comparison.findings.size(), 1U);
}

TEST_F(ParityComparison, FindsLayersOfOneDeviceAndOtherShapes) {
  cpu_.layer("a", "Linear", {1}).layer("b", "Linear", {1, 2});
  mps_.layer("b", "Linear", {1}).layer("c", "ReLU", {1});
  const Findings findings = compare().findings;
  EXPECT_EQ(findings, Findings({"layer a (Linear) is on cpu only", "layer b has shape [2] on cpu and [1] on mps",
                                "layer c (ReLU) is on mps only"}));
}

TEST_F(ParityComparison, FindsDtypesThatDiffer) {
  cpu_.layer("a", "Linear", {1}).module("a", "Linear", "float32");
  mps_.layer("a", "Linear", {1}).module("a", "Linear", "float32");
  mps_.run().values.at(0).dtype = "float16";
  EXPECT_EQ(compare().findings, Findings({"layer a is float32 on cpu and float16 on mps"}));
  const std::vector<LayerDtypes> policy = dtype_policy({cpu_.run(), mps_.run()});
  ASSERT_EQ(policy.size(), 1U);
  EXPECT_EQ(policy[0].weight, "float32");
  EXPECT_EQ(policy[0].output, "cpu: float32; mps: float16");
  EXPECT_TRUE(policy[0].disagree);
}

TEST_F(ParityComparison, KnowsTheDtypesOfGradientsByLayer) {
  cpu_.module("", "Linear", "float32").module("net.0", "Conv2d", "float32");
  cpu_.run().modules.push_back({.name = "", .kind = "CrossEntropyLoss", .weight = {}, .statistics = {}});
  cpu_.gradient("net.0.weight", {1}).gradient("bias", {1});
  const std::vector<LayerDtypes> policy = dtype_policy({cpu_.run()});
  ASSERT_EQ(policy.size(), 2U);
  EXPECT_EQ(policy[0].kind, "Conv2d");
  EXPECT_EQ(policy[0].gradient, "float32");
  EXPECT_EQ(policy[1].gradient, "float32");
  EXPECT_FALSE(policy[1].disagree);
}

TEST_F(ParityComparison, FindsElementsThatAreNoNumbersOnOneDevice) {
  cpu_.layer("a", "Linear", {1, 2});
  mps_.layer("a", "Linear", {1, std::numeric_limits<float>::quiet_NaN()});
  const Findings findings = compare().findings;
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "layer a (Linear) has 1 element that only one of cpu and mps has finite");
}

TEST_F(ParityComparison, FollowsTheDrift) {
  cpu_.losses({1, 1, 1, 1, 1});
  mps_.losses({1 + 1e-6, 1 + 1e-5, 1 + 1e-4, 1 + 1e-3, 1 + 1e-1});
  const Comparison comparison = compare();
  ASSERT_EQ(comparison.findings.size(), 1U);
  EXPECT_EQ(comparison.findings[0], "the loss on mps is 0.0909 apart from that on cpu at step 5 (limit 0.01)");
  ASSERT_TRUE(comparison.drift);
  EXPECT_NEAR(comparison.drift->decades_per_step.value_or(0), 1.19, 0.02);
}

TEST_F(ParityComparison, AddsUpTheLossesOfAStep) {
  cpu_.losses({1}).run().losses.push_back({0, 2, "float32"});
  mps_.losses({1}).run().losses.push_back({0, 2, "float32"});
  EXPECT_EQ(compare().steps.at(0).loss, 3);
}

TEST_F(ParityComparison, FindsALossThatIsNoNumberOnOneDevice) {
  cpu_.losses({1, 1});
  mps_.losses({1, std::numeric_limits<double>::quiet_NaN()});
  const Comparison comparison = compare();
  EXPECT_EQ(comparison.findings, Findings({"the loss of step 2 is 1 on cpu and nan on mps"}));
  EXPECT_FALSE(comparison.steps.at(1).loss);
}

TEST_F(ParityComparison, FindsMissingSteps) {
  cpu_.losses({1, 1});
  mps_.losses({1});
  EXPECT_EQ(compare().findings, Findings({"the script took 2 steps on cpu and 1 on mps"}));
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
