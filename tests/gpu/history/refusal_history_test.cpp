#include "gpu/history/refusal_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/history/operator_history.h"

namespace anymps::gpu::history {
namespace {

constexpr RefusalHistory kRow{
    "gcd, gcd_.out", "promoted: not integral", "TypeError", "gcd for {dtype}: {metal}?", "2.12", "2.13"};

TEST(RefusalHistory, ConcernsWholeMinorReleases) {
  for (const char* within : {"2.12", "2.12.1", "2.13.0", "2.13.7+cpu"}) EXPECT_TRUE(kRow.concerns(within)) << within;
  for (const char* outside : {"2.11.0", "2.14", "2.14.1"}) EXPECT_FALSE(kRow.concerns(outside)) << outside;
  RefusalHistory open = kRow;
  open.first = open.last = "";
  EXPECT_TRUE(open.concerns("2.15.0") && open.concerns("2.11.0"));
  EXPECT_FALSE(open.concerns("2.10.0"));
}

TEST(RefusalHistory, NamesOperatorsAsTheyAreWritten) {
  EXPECT_TRUE(kRow.names("gcd") && kRow.names("gcd.out") && kRow.names("gcd_.out") && kRow.names("gcd_"));
  EXPECT_FALSE(kRow.names("gcd_.x") || kRow.names("lcm") || kRow.names("gc"));
}

TEST(RefusalHistory, KnowsItsTextWithWhatACallFillsIn) {
  EXPECT_TRUE(kRow.can_be_text_of("gcd for Float: float?"));
  EXPECT_FALSE(kRow.can_be_text_of("gcd for Float: float"));
  EXPECT_FALSE(kRow.can_be_text_of("a gcd for Float: float?"));
  EXPECT_FALSE(kRow.can_be_text_of(""));
  RefusalHistory plain = kRow;
  plain.text = "no";
  EXPECT_TRUE(plain.can_be_text_of("no"));
  EXPECT_FALSE(plain.can_be_text_of("not") || plain.can_be_text_of("so no"));
}

TEST(RefusalHistory, NamesOperatorsThatThereAre) {
  for (const RefusalHistory& row : refusal_histories()) {
    EXPECT_TRUE(std::ranges::any_of(operator_histories(), [&](const auto& one) { return row.names(one.name); }))
        << row.operators;
  }
}

}  // namespace
}  // namespace anymps::gpu::history
