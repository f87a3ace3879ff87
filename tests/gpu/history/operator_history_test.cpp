#include "gpu/history/operator_history.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace anymps::gpu::history {
namespace {

std::string_view version_at(std::optional<std::size_t> release) {
  return release ? torch_releases()[*release].version : "none";
}

TEST(OperatorHistory, FindsReleases) {
  EXPECT_EQ(version_at(torch_release("2.8.0")), "2.8.0");
  EXPECT_EQ(version_at(torch_release("2.7")), "2.7.1");
  EXPECT_EQ(version_at(torch_release_before("2.14")), "2.13.0");
  EXPECT_EQ(version_at(torch_release_before("2.7.1")), "2.7.0");
  for (const char* unknown : {"", "2", "2.", "2.1", "2.70", "2.6", "3.0", "v2.8"}) {
    EXPECT_EQ(version_at(torch_release(unknown)), "none") << unknown;
  }
  for (const char* first : {"2.7", "2.7.0", "9.9"}) EXPECT_EQ(version_at(torch_release_before(first)), "none") << first;
}

TEST(OperatorHistory, KnowsWhatIsInstalled) {
  EXPECT_EQ(version_at(installed_release("2.13.0")), "2.13.0");
  EXPECT_EQ(version_at(installed_release("2.12.1+cu126")), "2.12.1");
  EXPECT_EQ(version_at(installed_release("2.12.9+cpu")), "2.12.1");
  EXPECT_EQ(version_at(installed_release("2.99.0")), "none");
}

TEST(OperatorHistory, FindsOperators) {
  const OperatorHistory* found = operator_history("grid_sampler_3d");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->in(*torch_release("2.8")), OperatorRoute::kRefused);
  EXPECT_EQ(found->in(*torch_release("2.9")), OperatorRoute::kKernel);
  EXPECT_EQ(operator_history("grid_sampler_4d"), nullptr);
  EXPECT_EQ(operator_history(""), nullptr);
  EXPECT_EQ(overloads_of("add.Tensor").size(), 1U);
  EXPECT_GT(overloads_of("add").size(), 1U);
}

TEST(OperatorHistory, IsInTheOrderThatLookingUpNeeds) {
  EXPECT_TRUE(std::ranges::is_sorted(operator_histories(), {}, &OperatorHistory::name));
  for (const OperatorHistory& one : operator_histories()) {
    ASSERT_EQ(one.routes.size(), torch_releases().size()) << one.name;
    ASSERT_EQ(operator_history(one.name), &one);
  }
}

}  // namespace
}  // namespace anymps::gpu::history
