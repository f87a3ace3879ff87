#include "lab/runbook/parity/reviewed_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "lab/runbook/test_folder.h"

namespace anymps::lab::runbook::parity {
namespace {

using Rows = std::vector<TensorDifference>;

TensorDifference row(const std::string& name, std::optional<std::uint64_t> ulps, double relative, bool random = false) {
  TensorDifference row;
  row.name = name;
  row.kind = "Linear";
  row.dtype = "float32";
  row.max_ulps = ulps;
  row.max_relative = relative;
  row.random = random;
  return row;
}

std::vector<Comparison> comparisons(const Rows& layers, const Rows& gradients = {}) {
  Comparison comparison;
  comparison.device = "mps";
  comparison.layers = layers;
  comparison.gradients = gradients;
  return {comparison};
}

class Reviewed : public ::testing::Test {
 protected:
  // Through the file, as the next run sees it.
  ParityTable committed(const std::vector<Comparison>& reviewed) {
    const auto path = folder_.path() / "parity.tsv";
    std::ofstream(path) << ParityTable::of(reviewed).text();
    return ParityTable::read(path);
  }

  TestFolder folder_;
};

TEST_F(Reviewed, TableIsSortedAndLeavesOutWhatIsRandom) {
  const std::vector<Comparison> rows = comparisons({row("b", 3, 1.23456e-7), row("a", {}, 0), row("r", 9, 1, true)},
                                                   {row("w", 18446744073709551615U, 0.5)});
  EXPECT_EQ(ParityTable::of(rows).text(),
            "device\twhat\tname\tkind\tdtype\tmax_ulps\tmax_relative\n"
            "mps\tgradient\tw\tLinear\tfloat32\t18446744073709551615\t0.5\n"
            "mps\tlayer\ta\tLinear\tfloat32\t-\t0\n"
            "mps\tlayer\tb\tLinear\tfloat32\t3\t1.23e-07\n");
}

TEST_F(Reviewed, RunIsNotWorseThanItself) {
  const std::vector<Comparison> rows = comparisons({row("b", 3, 1.23456e-7)}, {row("w", 5, 1.99999e-3)});
  EXPECT_TRUE(ParityTable::of(rows).changes_since(committed(rows), 1).empty());
}

TEST_F(Reviewed, ChangesAreWorseNewOrGone) {
  const ParityTable before = committed(comparisons({row("a", 2, 1e-7), row("b", 2, 1e-7), row("gone", 0, 0)}));
  const ParityTable now = ParityTable::of(comparisons({row("a", 4, 2e-7), row("b", 5, 1e-7), row("new", 0, 0)}));
  EXPECT_EQ(now.changes_since(before, 2),
            (std::vector<std::string>{
                "layer b on mps got worse: 2 ulps and 1e-07 relative were reviewed, 5 and 1e-07 are here",
                "layer new on mps is new", "layer gone on mps is gone"}));
  EXPECT_EQ(now.changes_since(before, 1).size(), 4U);
}

TEST_F(Reviewed, EveryDifferenceIsWorseThanNone) {
  const ParityTable before = committed(comparisons({row("a", 0, 0)}));
  EXPECT_EQ(ParityTable::of(comparisons({row("a", 1, 1e-8)})).changes_since(before, 2).size(), 1U);
}

TEST_F(Reviewed, OtherDevicesAreNotGone) {
  const ParityTable before = committed(comparisons({row("a", 0, 0)}));
  EXPECT_TRUE(ParityTable::of({}).changes_since(before, 2).empty());
}

TEST_F(Reviewed, FileThatIsNoneIsRefused) {
  const auto path = folder_.path() / "parity.tsv";
  EXPECT_THROW(ParityTable::read(path), std::runtime_error);
  std::ofstream(path) << "something else\n";
  EXPECT_THROW(ParityTable::read(path), std::runtime_error);
  std::ofstream(path) << ParityTable::of({}).text() << "mps\tlayer\ta\tLinear\tfloat32\tmany\t0\n";
  EXPECT_THROW(ParityTable::read(path), std::runtime_error);
  std::ofstream(path) << ParityTable::of({}).text() << "mps\tlayer\n";
  EXPECT_THROW(ParityTable::read(path), std::runtime_error);
}

}  // namespace
}  // namespace anymps::lab::runbook::parity
