#include "lab/runbook/plateau/plateau.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace anymps::lab::runbook::plateau {
namespace {

std::vector<trial::RecordedEpoch> epochs_of(const std::vector<std::uint64_t>& bytes) {
  std::vector<trial::RecordedEpoch> epochs;
  for (const std::uint64_t value : bytes) {
    trial::RecordedEpoch epoch;
    epoch.index = epochs.size();
    epoch.flushed_bytes = value;
    epoch.resident_bytes = value + 1000;
    epochs.push_back(epoch);
  }
  return epochs;
}

TEST(Plateau, TheSlopeHasItsConfidence) {
  constexpr std::array kExact = {1.0, 3.0, 5.0, 7.0};
  const Slope exact = slope_of(kExact);
  EXPECT_DOUBLE_EQ(exact.each, 2);
  EXPECT_NEAR(exact.low, 2, 1e-9);
  // By R: lm(c(1,2,4,3,5) ~ 0:4), slope 0.9, standard error 0.2517, t(3) = 3.182.
  constexpr std::array kNoisy = {1.0, 2.0, 4.0, 3.0, 5.0};
  const Slope noisy = slope_of(kNoisy);
  EXPECT_NEAR(noisy.each, 0.9, 1e-9);
  EXPECT_NEAR(noisy.high - noisy.each, 3.182 * 0.251661, 1e-3);
}

TEST(Plateau, TwentySixPercentIsTooMuch) {
  const auto level = judge_plateau(epochs_of({100, 100, 101, 100, 100}), 5, 0.26);
  EXPECT_EQ(level.verdict, document::Verdict::kGood);
  const auto rising = judge_plateau(epochs_of({100, 110, 120, 127}), 4, 0.26);
  EXPECT_EQ(rising.verdict, document::Verdict::kBad);
  EXPECT_NEAR(rising.rise_share, 0.27, 1e-9);
  EXPECT_EQ(judge_plateau(epochs_of({100, 110, 120, 125}), 4, 0.26).verdict, document::Verdict::kGood);
}

// As torch.mps.current_allocated_memory went for a small network, in KiB.
TEST(Plateau, UpAndDownIsNoGrowth) {
  const auto plateau = judge_plateau(epochs_of({1054, 1335, 2414, 1391, 2471, 1447, 2471, 1447, 2471, 1447}), 10, 0.26);
  EXPECT_GT(plateau.rise_share, 0.26);
  EXPECT_EQ(plateau.verdict, document::Verdict::kGood);
  ASSERT_EQ(plateau.notes.size(), 1U);
}

TEST(Plateau, AScriptThatEndsEarlyIsJudgedByItsPace) {
  const auto short_run = judge_plateau(epochs_of({100, 104, 108, 112}), 10, 0.26);
  EXPECT_NEAR(short_run.rise_share, 0.36, 1e-9);
  EXPECT_EQ(short_run.verdict, document::Verdict::kBad);
  EXPECT_EQ(judge_plateau(epochs_of({100, 200}), 10, 0.26).verdict, document::Verdict::kUnknown);
}

TEST(Plateau, WithoutADeviceTheResidentSetIsTaken) {
  auto epochs = epochs_of({0, 0, 0});
  const auto plateau = judge_plateau(epochs, 3, 0.26);
  EXPECT_EQ(plateau.measure, "resident");
}

TEST(Plateau, NamesTheLinesThatGrowInEveryEpoch) {
  const std::vector<nlohmann::json> sites = {
      {{"a.py:1", {100, 1, "x"}}, {"a.py:2", {10, 1, "y"}}, {"a.py:3", {5, 1, "z"}}},
      {{"a.py:1", {100, 1, "x"}}, {"a.py:2", {20, 2, "y"}}, {"a.py:3", {50, 1, "z"}}},
      {{"a.py:1", {100, 1, "x"}}, {"a.py:2", {30, 3, "y"}}, {"a.py:3", {50, 1, "z"}}}};
  const auto growing = growing_sites(sites);
  ASSERT_EQ(growing.size(), 1U);
  EXPECT_EQ(growing[0].site, "a.py:2");
  EXPECT_DOUBLE_EQ(growing[0].bytes_per_epoch, 10);
  EXPECT_DOUBLE_EQ(growing[0].count_per_epoch, 1);
}

}  // namespace
}  // namespace anymps::lab::runbook::plateau
