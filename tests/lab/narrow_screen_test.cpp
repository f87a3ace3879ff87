// Tables on a terminal of 60 columns: no line is longer.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "lab/gibibyte.h"
#include "lab/mac_screen.h"
#include "lab/runbook/log_screen.h"
#include "lab/size_screen.h"
#include "lab/text_wrap.h"

namespace anymps::lab {
namespace {

constexpr Terminal kNarrow{60, false};

void expect_narrow(const std::string& screen) {
  EXPECT_FALSE(screen.empty());
  std::istringstream lines(screen);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(length_of(line), kNarrow.width) << line;
}

TEST(NarrowScreen, Macs) { expect_narrow(mac_screen({15, 5}, kNarrow)); }

TEST(NarrowScreen, Size) {
  SizeReport report;
  report.macos = {15, 5};
  report.figures = {.block_bytes = 6 * kGiB, .resident_bytes = 7 * kGiB, .step_flops = 1e12, .step_bytes = 1e9};
  report.processes = 3;
  judge(report);
  expect_narrow(size_screen(report, kNarrow));
  report.batch = BatchFigures{"--batch-size",
                              {8, 4, 2},
                              {6 * kGiB, 4 * kGiB, 3 * kGiB},
                              {7 * kGiB, 5 * kGiB, 4 * kGiB},
                              {kGiB, kGiB / 2, kGiB / 4}};
  judge(report);
  expect_narrow(size_screen(report, kNarrow));
}

TEST(NarrowScreen, Log) {
  const nlohmann::json run = {
      {"id", 12},          {"started", "2026-11-18T05:41:02Z"},
      {"verb", "plateau"}, {"state", "interrupted"},
      {"verdict", "open"}, {"command", {"python", "a/rather/long/path/to/train.py", "--epochs", "10"}}};
  expect_narrow(log_list_screen({{"logbook", "log.sqlite"}, {"runs", {run}}}, kNarrow));
}

}  // namespace
}  // namespace anymps::lab
