#include "lab/runbook/trial/printed_metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

namespace anymps::lab::runbook::trial {
namespace {

std::optional<double> metric_in(const std::string& printed, const std::string& name = "accuracy") {
  std::istringstream stream(printed);
  return last_metric(stream, name);
}

TEST(PrintedMetric, ReadsTheFormsThatPeoplePrint) {
  EXPECT_EQ(metric_in("accuracy=0.93\n"), 0.93);
  EXPECT_EQ(metric_in("epoch 1 accuracy: 0.93, done\n"), 0.93);
  EXPECT_EQ(metric_in("accuracy 93 %\n"), 93);
  EXPECT_EQ(metric_in("{'accuracy': 9.3e-1}"), 0.93);
  EXPECT_EQ(metric_in("test accuracy = -1.5"), -1.5);
  EXPECT_TRUE(std::isnan(metric_in("accuracy: nan\n").value()));
}

TEST(PrintedMetric, TakesTheLast) {
  EXPECT_EQ(metric_in("accuracy 0.1\naccuracy 0.2\nthe accuracy is good\n"), 0.2);
  EXPECT_EQ(metric_in("accuracy 0.1\raccuracy 0.3\n"), 0.3);
}

TEST(PrintedMetric, IsNoPartOfALongerName) {
  EXPECT_EQ(metric_in("val_loss 2 loss 1 loss_scale 3\n", "loss"), 1);
  EXPECT_FALSE(metric_in("val_loss 2\n", "loss"));
  EXPECT_FALSE(metric_in("loss information: 5\n", "loss"));
  EXPECT_FALSE(metric_in("nothing\n"));
}

}  // namespace
}  // namespace anymps::lab::runbook::trial
