#include "lab/resident_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lab/child.h"

namespace anymps::lab {
namespace {

// A shell whose child, another shell, holds `mebibytes` in a variable for a while.
ChildCommand holding(int mebibytes) {
  const std::string fill = "head -c " + std::to_string(mebibytes << 20) + " /dev/zero | tr \"\\0\" x";
  return {{"sh", "-c", "sh -c 'held=$(" + fill + "); sleep 1'; true"}, {}};
}

TEST(ResidentSet, GrandchildrenCount) {
  ResidentSetWatch small_watch;
  run_child(holding(1));
  const ResidentSet small = small_watch.peak();
  ResidentSetWatch large_watch;
  run_child(holding(80));
  const ResidentSet large = large_watch.peak();
  EXPECT_GE(small.processes, 2U);
  EXPECT_GT(small.bytes, 0U);
  EXPECT_GT(large.bytes, small.bytes + (60U << 20));
}

TEST(ResidentSet, AProcessWithoutChildrenHasNone) {
  const ResidentSet none = resident_set_below(::getpid());
  EXPECT_EQ(none.bytes, 0U);
  EXPECT_EQ(none.processes, 0U);
}

}  // namespace
}  // namespace anymps::lab
