#include "gpu/history/known_failures.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace anymps::gpu::history {
namespace {

TEST(KnownFailures, FindsTheRowsOfAnOperator) {
  const auto rows = known_failures("2.13.0", "sort");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].outcome, FailureOutcome::kUndefined);
  EXPECT_EQ(rows[0].pass, FailurePass::kForward);
  EXPECT_TRUE(rows[0].concerns("float16"));
  EXPECT_TRUE(rows[0].concerns("bfloat16"));
  EXPECT_FALSE(rows[0].concerns("float32"));
  for (const char* part : {"float", "16", "", "float16,bfloat16"}) EXPECT_FALSE(rows[0].concerns(part)) << part;
  for (const char* unknown : {"", "sor", "sorted", "aten::sort", "sort.stable"}) {
    EXPECT_TRUE(known_failures("2.13.0", unknown).empty()) << unknown;
  }
}

TEST(KnownFailures, KnowsTheMacosThatMended) {
  const auto rows = known_failures("2.13.0", "fft_hfft2");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].reason, "");
  EXPECT_TRUE(rows[0].concerns(MacosVersion{14, 3}));
  EXPECT_FALSE(rows[0].concerns(MacosVersion{14, 4}));
  EXPECT_TRUE(known_failures("2.13.0", "topk")[0].concerns(kDefaultMacos));
  EXPECT_EQ(known_failures("2.13.0", "topk")[0].pass, FailurePass::kBackward);
}

TEST(KnownFailures, AreThoseOfTheRelease) {
  const auto fails = [](std::string_view release, std::string_view name) {
    return !known_failures(release, name).empty();
  };
  EXPECT_TRUE(fails("2.12.1", "quantile"));
  EXPECT_FALSE(fails("2.13.0", "quantile"));
  EXPECT_TRUE(fails("2.14.1", "std"));
  EXPECT_FALSE(fails("2.15.0", "std"));
  EXPECT_FALSE(fails("2.13.0", "linalg_lstsq"));
  EXPECT_TRUE(fails("2.15.0", "linalg_lstsq"));
}

TEST(KnownFailures, AReleaseWithoutATableHasTheOneBefore) {
  const auto table_of = [](std::string_view release) { return known_failures(release).front().release; };
  EXPECT_EQ(table_of("2.13.0"), "2.13");
  EXPECT_EQ(table_of("2.13.9+cpu"), "2.13");
  EXPECT_EQ(table_of("2.11.0"), "2.11");
  EXPECT_EQ(table_of("2.14.1+cu130"), "2.14");
  EXPECT_EQ(table_of("2.15.0"), "2.15");
  EXPECT_EQ(table_of("2.16.0"), "2.15");
  EXPECT_EQ(table_of("2.4.0"), known_failures("1.0").front().release);
  EXPECT_EQ(known_failures("99.0").front().release, known_failures("98.5.1").front().release);
}

TEST(KnownFailures, IsInTheOrderThatLookingUpNeeds) {
  for (const char* release : {"2.11", "2.12", "2.13", "2.14", "2.15"}) {
    EXPECT_TRUE(std::ranges::is_sorted(known_failures(release), {}, &KnownFailure::name)) << release;
    for (const KnownFailure& one : known_failures(release)) {
      const auto rows = known_failures(release, one.name);
      EXPECT_TRUE(rows.data() <= &one && &one < rows.data() + rows.size()) << one.name;
      EXPECT_FALSE(one.dtypes.empty()) << one.name;
      EXPECT_FALSE(to_text(one.outcome).empty()) << one.name;
    }
  }
}

}  // namespace
}  // namespace anymps::gpu::history
