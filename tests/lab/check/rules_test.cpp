#include "lab/check/rules.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace anymps::lab::check {
namespace {

TEST(CheckRules, EachSaysWhatWhyAndWhatToDo) {
  std::set<std::string_view> ids;
  for (const CheckRule& rule : check_rules()) {
    EXPECT_TRUE(ids.insert(rule.id).second) << rule.id;
    EXPECT_EQ(check_rule(rule.id), &rule);
    EXPECT_FALSE(rule.title.ends_with('.')) << rule.id;
    EXPECT_TRUE(rule.why.ends_with('.')) << rule.id;
    EXPECT_TRUE(rule.remedy.ends_with('.')) << rule.id;
    EXPECT_GE(rule.strict_severity, rule.severity) << rule.id;
  }
  EXPECT_EQ(check_rule("no-such-rule"), nullptr);
}

TEST(CheckRules, SeveritiesHaveNames) {
  for (const Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    EXPECT_EQ(severity_from(severity_name(severity)), severity);
  }
  EXPECT_EQ(severity_from("never"), std::nullopt);
}

TEST(CheckRules, TotalsAreShownInTheirUnit) {
  EXPECT_EQ(in_unit(CheckUnit::kBytes, 3U << 20), "3.0 MiB");
  EXPECT_EQ(in_unit(CheckUnit::kNanoseconds, 2'000'000), "2 ms");
  EXPECT_EQ(in_unit(CheckUnit::kNone, 7), "");
  EXPECT_EQ(in_unit(CheckUnit::kBytes, 0), "");
}

}  // namespace
}  // namespace anymps::lab::check
