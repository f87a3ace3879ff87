#include "lab/size/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "lab/gibibyte.h"
#include "lab/size/html.h"
#include "lab/size/screen.h"

namespace anymps::lab::size {
namespace {

constexpr gpu::history::MacosVersion kMacos{14, 5};

gpu::history::MacProfile mac(const char* name) { return *gpu::history::find_mac(name); }

SizeFigures need(std::uint64_t device, std::uint64_t resident, std::uint64_t others = 0) {
  return {device, resident, others, 0, 0};
}

Fit fit(const char* name, const SizeFigures& figures) { return fit_on(mac(name), kMacos, figures).fit; }

TEST(SizeReport, AVerdictNeedsAMarginOnEitherSide) {
  // 8 GiB of memory; the margin is 15 %, so 6.8 and 9.2 GiB are where verdicts change.
  EXPECT_EQ(fit("m2-8gb", need(kGiB, 6 * kGiB)), Fit::kFits);
  EXPECT_EQ(fit("m2-8gb", need(kGiB, 7 * kGiB)), Fit::kTooClose);
  EXPECT_EQ(fit("m2-8gb", need(kGiB, 9 * kGiB)), Fit::kTooClose);
  EXPECT_EQ(fit("m2-8gb", need(kGiB, 10 * kGiB)), Fit::kSwaps);
}

TEST(SizeReport, TheDevicesLimitIsPyTorchs) {
  // 1.7 times 5.33 GiB is 9.07 GiB.
  const MacFit fits = fit_on(mac("m2-8gb"), kMacos, need(12 * kGiB, 12 * kGiB));
  EXPECT_NEAR(fits.limit_bytes / kGiB, 9.067, 0.001);
  EXPECT_NEAR(fits.limit_share, 12 / 9.067, 0.001);
  EXPECT_EQ(fits.fit, Fit::kOutOfMemory);
}

TEST(SizeReport, OneBufferHasALimitOfItsOwn) {
  SizeFigures figures = need(4 * kGiB, 4 * kGiB);
  figures.largest_buffer = 4 * kGiB - 1;  // 3/4 of 5.33 GiB, less a byte
  EXPECT_EQ(fit("m2-8gb", figures), Fit::kFits);
  figures.largest_buffer = 4 * kGiB;
  EXPECT_EQ(fit("m2-8gb", figures), Fit::kBufferTooLarge);
  EXPECT_EQ(fit("m1-16gb", figures), Fit::kFits);

  // 32 MiB a sample together, of which one buffer has 16: 255 samples stay below 4 GiB.
  const BatchFigures batch{
      "--batch-size", {64, 32, 16}, {2 * kGiB, kGiB, kGiB / 2}, {2 * kGiB, kGiB, kGiB / 2}, {kGiB, kGiB / 2, kGiB / 4}};
  EXPECT_LT(*fit_on(mac("m2-8gb"), kMacos, figures, &batch).largest_batch, 256U);
  const BatchFigures one{
      "--batch-size", {64, 32, 16}, {2 * kGiB, kGiB, kGiB / 2}, {2 * kGiB, kGiB, kGiB / 2}, {2 * kGiB, kGiB, kGiB / 2}};
  EXPECT_EQ(fit_on(mac("m2-8gb"), kMacos, figures, &one).largest_batch, 127U);
}

TEST(SizeReport, OtherAppsCountAgainstMemoryAndMoveTheSwapPoint) {
  EXPECT_EQ(fit("m1-16gb", need(kGiB, 12 * kGiB)), Fit::kFits);
  EXPECT_EQ(fit("m1-16gb", need(kGiB, 12 * kGiB, 8 * kGiB)), Fit::kSwaps);
  EXPECT_EQ(fit_on(mac("m1-16gb"), kMacos, need(kGiB, kGiB, 4 * kGiB)).swaps_at, 12.0 * kGiB);
}

TEST(SizeReport, StepTimeIsTheSlowerOfArithmeticAndTraffic) {
  SizeFigures figures = need(kGiB, kGiB);
  EXPECT_FALSE(fit_on(mac("m2-8gb"), kMacos, figures).step_seconds);
  figures.step_flops = 3.6e12;  // one second at the M2's peak
  EXPECT_DOUBLE_EQ(*fit_on(mac("m2-8gb"), kMacos, figures).step_seconds, 1 / kShareOfPeak);
  figures.step_bytes = 300e9;  // three seconds at its 100 GB/s
  EXPECT_DOUBLE_EQ(*fit_on(mac("m2-8gb"), kMacos, figures).step_seconds, 3 / kShareOfPeak);
}

TEST(SizeReport, ALineGoesThroughThePeaks) {
  const BatchLine line = BatchLine::through({64, 32, 16}, {740, 420, 260});
  EXPECT_NEAR(line.base, 100, 1e-9);
  EXPECT_NEAR(line.per_sample, 10, 1e-9);
  EXPECT_EQ(line.largest_within(1001), 90U);
  EXPECT_EQ(line.largest_within(50), 0U);
  EXPECT_FALSE(BatchLine::through({64, 32}, {5, 5}).largest_within(10));
}

TEST(SizeReport, TheLargestBatchIsOneThatFits) {
  BatchFigures batch{"--batch-size", {64, 32, 16}, {}, {}, {}};
  for (const std::uint64_t size : batch.batches) {
    batch.block_bytes.push_back(kGiB + size * (kGiB / 32));
    batch.resident_bytes.push_back(2 * kGiB + size * (kGiB / 32));
  }
  const MacFit on_8 = fit_on(mac("m2-8gb"), kMacos, need(batch.block_bytes[0], batch.resident_bytes[0]), &batch);
  // Memory comes first: 0.85 * 8 GiB = 2 GiB + batch / 32 GiB.
  ASSERT_TRUE(on_8.largest_batch);
  EXPECT_EQ(*on_8.largest_batch, 153U);
  const std::uint64_t at_it = 2 * kGiB + *on_8.largest_batch * (kGiB / 32);
  EXPECT_EQ(fit("m2-8gb", need(at_it - kGiB, at_it)), Fit::kFits);
  EXPECT_EQ(fit("m2-8gb", need(at_it - kGiB, at_it + kGiB / 16)), Fit::kTooClose);
}

TEST(SizeReport, NoisyResidentSetsDoNotBendTheLine) {
  // On the host the runs differ by chance; on the device the batch makes no difference, so there is no largest one.
  const BatchFigures flat{"-b", {64, 32, 16}, {kGiB, kGiB, kGiB}, {3 * kGiB, 2 * kGiB, 2 * kGiB}, {}};
  EXPECT_EQ(flat.host_bytes(), 2 * kGiB);
  EXPECT_FALSE(fit_on(mac("m2-8gb"), kMacos, need(kGiB, 3 * kGiB), &flat).largest_batch);
}

SizeReport a_report() {
  SizeReport report;
  report.run.command = {"python", "<b>train</b>.py"};
  report.macos = kMacos;
  report.figures = {6 * kGiB, 7 * kGiB, kGiB, 1e12, 1e9};
  report.processes = 3;
  report.batch =
      BatchFigures{"--batch-size", {8, 4, 2}, {6 * kGiB, 4 * kGiB, 3 * kGiB}, {7 * kGiB, 5 * kGiB, 4 * kGiB}, {}};
  judge(report);
  return report;
}

TEST(SizeReport, EveryMacIsAnsweredEverywhere) {
  const SizeReport report = a_report();
  const std::string screen = size_screen(report, {80, false});
  const std::string html = size_html(report);
  const nlohmann::json json = to_json(report);
  ASSERT_EQ(report.macs.size(), gpu::history::all_macs().size());
  EXPECT_EQ(json["macs"].size(), report.macs.size());
  for (const gpu::history::MacProfile& one : gpu::history::all_macs()) {
    EXPECT_NE(screen.find(one.name), std::string::npos) << one.name;
    EXPECT_NE(html.find(">" + std::string(one.name) + "<"), std::string::npos) << one.name;
  }
  for (std::string text : {screen, html}) {
    std::ranges::replace(text, '\n', ' ');
    EXPECT_NE(text.find("too close to call"), std::string::npos);
    EXPECT_NE(text.find("graph library"), std::string::npos);
    EXPECT_NE(text.find("estimate"), std::string::npos);
    EXPECT_NE(text.find("FLOPs / (peak FLOPS x 0.5)"), std::string::npos);
  }
}

TEST(SizeReport, PeaksThatTheBatchDoesNotHoldGiveNoLine) {
  // 300 is a validation's.
  BatchFigures batch{"--batch-size", {80, 160, 320, 640}, {300, 300, 320, 640}, {1, 1, 1, 1}, {1, 1, 1, 1}};
  EXPECT_FALSE(batch.is_straight());
  batch.batches.push_back(1280);
  for (auto* row : {&batch.block_bytes, &batch.resident_bytes, &batch.largest_buffer}) row->push_back(1280);
  EXPECT_TRUE(batch.is_straight());
  batch.keep_largest();
  EXPECT_EQ(batch.batches, (std::vector<std::uint64_t>{320, 640, 1280}));
  EXPECT_EQ(batch.block_bytes, (std::vector<std::uint64_t>{320, 640, 1280}));

  SizeReport report = a_report();
  report.batch->block_bytes = {6 * kGiB, 3 * kGiB, 3 * kGiB};
  judge(report);
  EXPECT_FALSE(report.macs.front().largest_batch.has_value());
  const auto notes = size_notes(report);
  EXPECT_TRUE(std::ranges::any_of(
      notes, [](const std::string& note) { return note.find("do not lie on a line") != note.npos; }));
}

TEST(SizeReport, ThePageGroupsMacsByMemory) {
  const std::string html = size_html(a_report());
  std::vector<std::string> groups;
  for (std::size_t at = html.find("class=\"group\""); at != std::string::npos;
       at = html.find("class=\"group\"", at + 1)) {
    const std::size_t begin = html.find("\">", html.find("<th", at)) + 2;
    groups.push_back(html.substr(begin, html.find(':', begin) - begin));
  }
  ASSERT_GE(groups.size(), 4U);
  EXPECT_EQ(groups.front(), "8.0 GiB");
  const std::set<std::string> once(groups.begin(), groups.end());
  EXPECT_EQ(once.size(), groups.size());
}

TEST(SizeReport, TheHtmlStandsAlone) {
  const std::string html = size_html(a_report());
  for (const char* outside : {"http:", "https:", "src=", "<script", "@import", "url("}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(html.find("<b>train"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;train"), std::string::npos);
  EXPECT_NE(html.find("prefers-color-scheme: dark"), std::string::npos);
}

}  // namespace
}  // namespace anymps::lab::size
