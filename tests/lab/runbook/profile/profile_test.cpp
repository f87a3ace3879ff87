#include "lab/runbook/profile/profile.h"

#include <gtest/gtest.h>

#include "lab/has_text.h"
#include "lab/runbook/profile/screen.h"
#include "lab/runbook/profile/summary.h"

namespace anymps::lab::runbook::profile {
namespace {

using nlohmann::json;

// Steps of a tenth of a second in a window of five seconds, of which the device works for two.
ProfileParts parts() {
  ProfileParts parts;
  StepWindow& window = parts.full.window.emplace();
  window.step_seconds = 0.1;
  window.steps = 50;
  window.input_share = 0.1;
  window.window_seconds = 5;
  window.steady_step_seconds = 0.09;
  TracedOperators& traced = parts.operators.traced.emplace();
  traced.operators = {
      {.name = "aten::mm", .count = 50, .self_seconds = 2, .queued_seconds = 0.1, .waited_seconds = 0.2}};
  traced.device_share = 0.4;
  traced.modelled.emplace().busy_share = 0.6;
  parts.data.batch_seconds = 0.02;
  parts.stages.loading.stages = {{"decode", 0.7}, {"other", 0.3}};
  parts.forward.seconds = 0.03;
  return parts;
}

ProfileDocument document_of(const ProfileParts& parts) {
  ProfileResult result = judge_profile(parts, {});
  ProfileDocument document;
  document.head.verdict = result.verdict;
  document.profile = std::move(result.profile);
  return document;
}

std::vector<Finding> findings_of(const ProfileParts& parts) {
  return judge_profile(parts, {}).profile.findings.value_or(std::vector<Finding>());
}

void expect_round_trip(const json& written) {
  EXPECT_EQ(document::to_json(document::described_from<ProfileDocument>(written)), written);
}

TEST(Profile, SharesAddUpToTheStep) {
  ProfileParts waiting = parts();
  waiting.full.window->waits = {{.name = "item", .site = "/x/train.py:3", .count = 5, .seconds = 1}};
  waiting.operators.traced->fallback_share = 0.05;
  const auto shares = judge_profile(waiting, {}).profile.full.shares;
  ASSERT_TRUE(shares);
  EXPECT_DOUBLE_EQ(shares->input, 0.1);
  EXPECT_DOUBLE_EQ(shares->fallback, 0.05);
  EXPECT_DOUBLE_EQ(shares->device, 0.4);
  EXPECT_DOUBLE_EQ(shares->waiting, 0.2);
  EXPECT_DOUBLE_EQ(shares->host, 0.25);
}

TEST(Profile, NothingStandsOut) {
  const ProfileResult result = judge_profile(parts(), {});
  EXPECT_EQ(result.verdict, document::Verdict::kGood);
  EXPECT_TRUE(findings_of(parts()).empty());
  EXPECT_TRUE(has(result.profile.story, "Nothing stands out."));
}

TEST(Profile, FindsWhatHoldsAScriptBack) {
  ProfileParts slow = parts();
  slow.full.window->input_share = 0.4;
  slow.full.window->waits = {{.name = "item", .site = "/x/train.py:3", .count = 110, .seconds = 0.1}};
  slow.operators.traced->fallbacks = {{.name = "aten::foo", .site = "/x/train.py:12", .count = 3}};
  slow.operators.traced->fallback_share = 0.2;
  slow.workers = {{.loading = {}, .workers = 2, .outcome = document::Outcome::kHung}};
  EXPECT_EQ(judge_profile(slow, {}).verdict, document::Verdict::kBad);
  EXPECT_EQ(findings_of(slow),
            (std::vector<Finding>{Finding::kInput, Finding::kWaits, Finding::kFallback, Finding::kWorkers}));
  EXPECT_TRUE(has(judge_profile(slow, {}).profile.story, "With 2 loader workers it hung."));
}

TEST(Profile, AScriptThatFailsIsAFinding) {
  ProfileParts failed;
  failed.full.end.failure.emplace().outcome = document::Outcome::kHung;
  EXPECT_EQ(findings_of(failed), (std::vector<Finding>{Finding::kHung}));
  const json written = document::to_json(document_of(failed));
  EXPECT_EQ(written.at("findings"), json({"the script hung"}));
  EXPECT_EQ(written.at("failure").at("outcome"), "hung");
  EXPECT_FALSE(written.at("full").contains("step_seconds"));
  expect_round_trip(written);
}

TEST(Profile, WithoutAStepNothingIsSaid) {
  ProfileParts none = parts();
  none.full.window->steps = 0;
  const ProfileDocument document = document_of(none);
  EXPECT_EQ(document.head.verdict, document::Verdict::kUnknown);
  const json written = document::to_json(document);
  EXPECT_FALSE(written.contains("findings") || written.contains("notes"));
  expect_round_trip(written);
}

TEST(Profile, IsReadAsItWasWritten) {
  ProfileParts all = parts();
  all.workers = {{.loading = all.data, .workers = 0, .outcome = document::Outcome::kRan}};
  all.full.end.error = all.data.end.error = "an error";
  const json written = document::to_json(document_of(all));
  expect_round_trip(written);
  EXPECT_TRUE(written.at("full").at("first_epoch_step_seconds").is_null());
  EXPECT_EQ(written.at("data").at("stages").at("decode"), 0.7);
  EXPECT_FALSE(written.at("data").contains("descriptors"));
  EXPECT_EQ(written.at("workers").at(0).at("batch_seconds"), 0.02);
}

TEST(Profile, TheHeadlineIsTheLargestShare) {
  EXPECT_EQ(profile_headline(document_of(parts())), "50.0% of a step is host");
  EXPECT_EQ(profile_headline({}), "");
}

TEST(Profile, OfAnotherKindIsEmpty) {
  for (const json& odd : {json(), json({1, 2}), json({{"full", 3}, {"data", {{"stages", {1}}}}, {"workers", {1, {2}}}}),
                          json({{"full", {{"step_seconds", "long"}, {"shares", {{"input", 1}}}}}})}) {
    const auto document = document::described_from<ProfileDocument>(odd);
    EXPECT_FALSE(document.profile.full.shares) << odd;
    EXPECT_FALSE(profile_screen(document, {}).empty());
  }
}

}  // namespace
}  // namespace anymps::lab::runbook::profile
