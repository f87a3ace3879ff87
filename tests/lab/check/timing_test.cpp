#include "lab/check/timing.h"

#include <gtest/gtest.h>

namespace anymps::lab::check {
namespace {

// Lines 2 to 9, with a loop in 4 to 7.
const ClockInterval kInterval{{2, 9}, {{4, 7}}};

bool unsynchronised(std::vector<unsigned> work, std::vector<unsigned> waits) {
  return is_unsynchronised(kInterval, {std::move(work), std::move(waits)});
}

TEST(CheckTiming, WorkWithoutAWaitIsFound) {
  EXPECT_TRUE(unsynchronised({3}, {}));
  EXPECT_TRUE(unsynchronised({5, 8}, {}));
}

TEST(CheckTiming, OnlyWorkOfTheIntervalCounts) {
  EXPECT_FALSE(unsynchronised({}, {}));
  EXPECT_FALSE(unsynchronised({1, 10}, {}));
}

TEST(CheckTiming, AWaitAfterTheLastWorkIsEnough) {
  EXPECT_FALSE(unsynchronised({3}, {8}));
  EXPECT_FALSE(unsynchronised({3}, {3})) << "the line works and waits";
  EXPECT_TRUE(unsynchronised({3, 8}, {3})) << "line 8 is still queued";
  EXPECT_TRUE(unsynchronised({3}, {1, 10})) << "outside";
}

TEST(CheckTiming, InALoopAWaitMayComeFirst) {
  EXPECT_FALSE(unsynchronised({6}, {5}));
  EXPECT_TRUE(unsynchronised({8}, {5})) << "work after the loop";
  EXPECT_TRUE(unsynchronised({6}, {3})) << "a wait before the loop";
}

}  // namespace
}  // namespace anymps::lab::check
