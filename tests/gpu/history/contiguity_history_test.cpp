#include "gpu/history/contiguity_history.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace anymps::gpu::history {
namespace {

TEST(ContiguityHistory, AppliesBeforeTheMend) {
  EXPECT_NE(contiguity_history("linear", "2.8.0"), nullptr);
  EXPECT_EQ(contiguity_history("linear", "2.9.0"), nullptr);
  EXPECT_EQ(contiguity_history("linear", "2.13.0"), nullptr);
  EXPECT_NE(contiguity_history("convolution", "2.13.0"), nullptr);
  EXPECT_NE(contiguity_history("convolution", "2.13.0+cpu"), nullptr);
  EXPECT_EQ(contiguity_history("convolution", "2.14.0"), nullptr);
  EXPECT_NE(contiguity_history("lstm", "2.99.0"), nullptr);
  EXPECT_EQ(contiguity_history("_scaled_dot_product_attention_math_for_mps", "2.7.1"), nullptr);
  EXPECT_NE(contiguity_history("_scaled_dot_product_attention_math_for_mps", "2.8.0"), nullptr);
}

TEST(ContiguityHistory, FindsOperatorsByTheirWholeName) {
  const ContiguityHistory* found = contiguity_history("convolution", "2.13.0");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->issue, 192212U);
  EXPECT_EQ(found->argument, StridedArgument::kInput);
  EXPECT_EQ(found->argument_name, "weight");
  EXPECT_EQ(found->layout, StridedLayout::kNotChannelsLast);
  for (const char* unknown : {"", "linea", "aten::linear", "linear.out", "relu", "zzz"}) {
    EXPECT_EQ(contiguity_history(unknown, "2.0.0"), nullptr) << unknown;
  }
}

TEST(ContiguityHistory, KnowsTheMacos) {
  const ContiguityHistory* before = contiguity_history("normal_", "2.9.1");
  ASSERT_NE(before, nullptr);
  EXPECT_TRUE(before->concerns(MacosVersion{14, 7}));
  EXPECT_FALSE(before->concerns(MacosVersion{15, 0}));
  const ContiguityHistory* from = contiguity_history("convolution", "2.13.0");
  ASSERT_NE(from, nullptr);
  EXPECT_FALSE(from->concerns(MacosVersion{14, 7}));
  EXPECT_TRUE(from->concerns(kDefaultMacos));
}

TEST(ContiguityHistory, HasOneRowForAnOperatorInTheOrderThatLookingUpNeeds) {
  const auto rows = contiguity_histories();
  const auto out_of_order = [](const auto& one, const auto& next) { return one.name >= next.name; };
  EXPECT_EQ(std::ranges::adjacent_find(rows, out_of_order), rows.end());
  for (const ContiguityHistory& one : rows) {
    EXPECT_GT(one.issue, 0U) << one.name;
    EXPECT_FALSE(one.fault.empty()) << one.name;
  }
}

}  // namespace
}  // namespace anymps::gpu::history
