#include "lab/runbook/plateau/plateau.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "lab/has_text.h"
#include "lab/runbook/plateau/section.h"
#include "lab/runbook/plateau/summary.h"

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
  EXPECT_DOUBLE_EQ(exact.bytes_per_epoch, 2);
  EXPECT_NEAR(exact.low.value(), 2, 1e-9);
  // By R: lm(c(1,2,4,3,5) ~ 0:4), slope 0.9, standard error 0.2517, t(3) = 3.182.
  constexpr std::array kNoisy = {1.0, 2.0, 4.0, 3.0, 5.0};
  const Slope noisy = slope_of(kNoisy);
  EXPECT_NEAR(noisy.bytes_per_epoch, 0.9, 1e-9);
  EXPECT_NEAR(noisy.high.value() - noisy.bytes_per_epoch, 3.182 * 0.251661, 1e-3);
}

TEST(Plateau, ThroughTwoValuesMayGoAnySlope) {
  constexpr std::array kTwo = {1.0, 3.0};
  const Slope slope = slope_of(kTwo);
  EXPECT_DOUBLE_EQ(slope.bytes_per_epoch, 2);
  EXPECT_FALSE(slope.low);
  EXPECT_FALSE(slope.high);
}

TEST(Plateau, TwentySixPercentIsTooMuch) {
  const auto level = judge_plateau(epochs_of({100, 100, 101, 100, 100}), 5, 0.26);
  EXPECT_EQ(level.verdict(), document::Verdict::kGood);
  const auto rising = judge_plateau(epochs_of({100, 110, 120, 127}), 4, 0.26);
  EXPECT_EQ(rising.verdict(), document::Verdict::kBad);
  EXPECT_NEAR(rising.rise_share.value(), 0.27, 1e-9);
  EXPECT_EQ(judge_plateau(epochs_of({100, 110, 120, 125}), 4, 0.26).verdict(), document::Verdict::kGood);
}

// As torch.mps.current_allocated_memory went for a small network, in KiB.
TEST(Plateau, UpAndDownIsNoGrowth) {
  const auto plateau = judge_plateau(epochs_of({1054, 1335, 2414, 1391, 2471, 1447, 2471, 1447, 2471, 1447}), 10, 0.26);
  EXPECT_GT(plateau.rise_share.value(), 0.26);
  EXPECT_EQ(plateau.verdict(), document::Verdict::kGood);
  ASSERT_EQ(plateau.notes.size(), 1U);
}

TEST(Plateau, AScriptThatEndsEarlyIsJudgedByItsPace) {
  const auto short_run = judge_plateau(epochs_of({100, 104, 108, 112}), 10, 0.26);
  EXPECT_NEAR(short_run.rise_share.value(), 0.36, 1e-9);
  EXPECT_EQ(short_run.verdict(), document::Verdict::kBad);
  EXPECT_EQ(judge_plateau(epochs_of({100, 200}), 10, 0.26).verdict(), document::Verdict::kUnknown);
}

TEST(Plateau, WithoutADeviceTheResidentSetIsTaken) {
  auto epochs = epochs_of({0, 0, 0});
  const auto plateau = judge_plateau(epochs, 3, 0.26);
  EXPECT_EQ(plateau.measure, Measure::kResident);
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

PlateauDocument document_of_a_leak() {
  PlateauDocument plateau;
  plateau.head.verdict = document::Verdict::kBad;
  plateau.measured.curve = judge_plateau(epochs_of({100, 110, 120, 127}), 4, 0.26);
  plateau.measured.curve.sites = {
      {.site = "a.py:2", .bytes_per_epoch = 10, .count_per_epoch = 1, .example = "float32 [9]"}};
  plateau.measured.steps = 40;
  return plateau;
}

TEST(Plateau, ADocumentComesBackFromItsJson) {
  PlateauDocument plateau = document_of_a_leak();
  nlohmann::json json = document::to_json(plateau);
  EXPECT_EQ(json["measure"], "tensors");
  EXPECT_TRUE(json["epochs"][0]["flushed_bytes"].is_number_unsigned());
  EXPECT_FALSE(json.contains("failure"));
  EXPECT_EQ(document::to_json(document::described_from<PlateauDocument>(json)), json);

  plateau.measured.curve.slope->low.reset();
  plateau.measured.failure = {
      .outcome = document::Outcome::kCrashed, .why = "status 1", .status = 1, .stacks = {}, .output = "Traceback"};
  json = document::to_json(plateau);
  EXPECT_TRUE(json["slope"]["low"].is_null());
  EXPECT_EQ(document::to_json(document::described_from<PlateauDocument>(json)), json);
}

TEST(Plateau, WhereAnyRiseIsAllowedItStaysSoInJson) {
  MeasuredCurve measured;
  measured.curve = judge_plateau(epochs_of({100, 200, 300}), 3, std::numeric_limits<double>::infinity());
  EXPECT_EQ(measured.verdict(), document::Verdict::kGood);
  EXPECT_EQ(document::described_from<MeasuredCurve>(document::to_json(measured)).verdict(), document::Verdict::kGood);
}

TEST(Plateau, ACurveThatFailedIsBad) {
  MeasuredCurve measured;
  EXPECT_EQ(measured.verdict(), document::Verdict::kUnknown);
  measured.failure = document::Failure{};
  EXPECT_EQ(measured.verdict(), document::Verdict::kBad);
  EXPECT_EQ(document::to_json(measured)["verdict"], "bad");
}

TEST(Plateau, TheSectionOfADocumentWithNothingHasNoNumbers) {
  for (const auto& odd :
       {nlohmann::json(), nlohmann::json{{"epochs", {1, nullptr}}, {"slope", 3}, {"rise_share", "x"}}}) {
    const auto plateau = document::described_from<PlateauDocument>(odd);
    EXPECT_EQ(plateau_headline(plateau), "");
    EXPECT_TRUE(plateau_figures(plateau).empty());
    EXPECT_FALSE(has(plateau_section({{.document = plateau, .label = "run 1"}}), "class=\"cards\""));
  }
}

TEST(Plateau, ALeakComesToItsRise) {
  const PlateauDocument plateau = document_of_a_leak();
  EXPECT_EQ(plateau_headline(plateau), "+27.0% over 4 epochs");
  const std::vector<document::Figure> figures = plateau_figures(plateau);
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].name, "bytes_per_epoch");
  EXPECT_EQ(figures[0].low, plateau.measured.curve.slope->low);
  EXPECT_EQ(figures[1].name, "rise_share");
  const std::string section = plateau_section({{.document = plateau, .label = "run 1"}});
  for (const char* kept : {"something is retained", "<code>a.py:2</code>", "+27.0%"}) EXPECT_TRUE(has(section, kept));
}

}  // namespace
}  // namespace anymps::lab::runbook::plateau
