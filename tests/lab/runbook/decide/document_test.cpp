#include "lab/runbook/decide/document.h"

#include <gtest/gtest.h>

#include "lab/runbook/decide/decide.h"
#include "lab/runbook/decide/screen.h"

namespace anymps::lab::runbook::decide {
namespace {

using nlohmann::json;

json again(const json& written) { return document::to_json(document::described_from<DecideDocument>(written)); }

TEST(DecideDocument, IsReadAsItWasWritten) {
  Measured measured;
  measured.cpu_step_seconds = 1;
  measured.mps_step_seconds = 0.4;
  measured.profile.operators = {
      {.name = "aten::cumsum", .count = 3, .self_seconds = 0.5, .queued_seconds = 0, .waited_seconds = 0}};
  DecideDocument document = decide(measured, {}).document;
  document.head.verdict = document::Verdict::kGood;
  document.grounds->notes = {"a note"};
  document.grounds->evidence = {{.text = "a story", .run = 3}};
  document.rejected = {{.text = "a larger batch helps", .why = "the knee is at 16", .at = "2026-11-16T10:00:00Z"}};
  const json written = document::to_json(document);
  EXPECT_EQ(again(written), written);
  EXPECT_EQ(written.at("decision").at("outcome"), "mps");
  EXPECT_EQ(written.at("candidates").at(2).at("name"), "mlx");
  EXPECT_EQ(written.at("candidates").at(2).at("ran"), false);
  EXPECT_TRUE(written.at("thresholds").at(1).at("value").is_null());
  EXPECT_EQ(written.at("profile").at("operators").at(0).at("name"), "aten::cumsum");
  EXPECT_FALSE(written.contains("stop_rule"));
}

TEST(DecideDocument, OfTheStopRuleHasNothingElse) {
  DecideDocument document;
  document.decision.outcome = Choice::kGoOn;
  document.stop = StopAnswer{};
  json written = document::to_json(document);
  EXPECT_EQ(again(written), written);
  EXPECT_TRUE(written.at("stop_rule").is_null());
  for (const char* name : {"candidates", "symptoms", "notes", "profile"}) EXPECT_FALSE(written.contains(name)) << name;

  document.decision.outcome = Choice::kStopTuning;
  document.stop->rule = {
      .runs = {1, 2}, .days_apart = 8, .change = 0.5, .operators = {"a", "b", "c"}, .why = "they differ"};
  written = document::to_json(document);
  EXPECT_EQ(again(written), written);
  EXPECT_EQ(written.at("stop_rule").at("runs"), json({1, 2}));
}

TEST(DecideDocument, OfAnotherKindIsUndecided) {
  for (const json& odd : {json(), json(3), json::object(), json({{"decision", 3}, {"candidates", {1, 2}}}),
                          json({{"decision", {{"outcome", "of another version"}}}, {"stop_rule", 7}})}) {
    const auto document = document::described_from<DecideDocument>(odd);
    EXPECT_EQ(document.decision.outcome, Choice::kUndecided) << odd;
    EXPECT_FALSE(decide_screen(document, {}).empty());
  }
}

}  // namespace
}  // namespace anymps::lab::runbook::decide
