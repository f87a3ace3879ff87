#include "lab/runbook/decide/stop_rule.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace anymps::lab::runbook::decide {
namespace {

using Seconds = std::vector<std::pair<std::string, double>>;

logbook::LoggedRun profile_of(std::int64_t id, const char* started, double step, const Seconds& operators) {
  profile::ProfileDocument document;
  profile::StepWindow& window = document.profile.full.part.window.emplace();
  window.step_seconds = step;
  window.steps = 1;
  document.profile.full.shares.emplace().input = 0.05;
  for (const auto& [name, seconds] : operators) {
    document.profile.operators.push_back(
        {.name = name, .count = 1, .self_seconds = seconds, .queued_seconds = 0, .waited_seconds = 0});
  }
  logbook::LoggedRun run;
  run.id = id;
  run.started = started;
  run.document = document::to_json(document);
  return run;
}

const Seconds kSlower = {{"a", 0.6}, {"b", 0.5}, {"c", 0.3}, {"d", 0.01}};

logbook::LoggedRun older() {
  return profile_of(1, "2026-11-01T00:00:00Z", 1.0, {{"a", 0.4}, {"b", 0.3}, {"c", 0.2}, {"d", 0.01}});
}

TEST(StopRule, EndsTheTuning) {
  const auto rule = stop_rule({profile_of(2, "2026-11-09T00:00:00Z", 1.5, kSlower), older()}, {});
  ASSERT_TRUE(rule);
  EXPECT_EQ(rule->runs, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(rule->operators, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_DOUBLE_EQ(rule->days_apart, 8);
  EXPECT_DOUBLE_EQ(rule->change, 0.5);
}

TEST(StopRule, ProfilesOfTheSameWeekDoNot) {
  EXPECT_FALSE(stop_rule({profile_of(2, "2026-11-02T00:00:00Z", 1.5, kSlower), older()}, {}));
}

TEST(StopRule, ProfilesThatAgreeDoNot) {
  const Seconds same = {{"a", 0.4}, {"b", 0.3}, {"c", 0.2}, {"d", 0.02}};
  EXPECT_FALSE(stop_rule({profile_of(2, "2026-11-09T00:00:00Z", 1.01, same), older()}, {}));
}

TEST(StopRule, ProfilesThatDifferByOtherOperatorsDoNot) {
  const Seconds other = {{"x", 0.6}, {"b", 0.5}, {"c", 0.3}, {"a", 0.01}};
  EXPECT_FALSE(stop_rule({profile_of(2, "2026-11-09T00:00:00Z", 1.5, other), older()}, {}));
}

TEST(StopRule, AProfileWithoutAStepDoesNot) {
  logbook::LoggedRun nothing = older();
  nothing.document = nullptr;
  EXPECT_FALSE(stop_rule({profile_of(2, "2026-11-09T00:00:00Z", 1.5, kSlower), nothing}, {}));
}

}  // namespace
}  // namespace anymps::lab::runbook::decide
