#include "lab/html/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace anymps::lab::html {
namespace {

using Values = std::vector<double>;
using Labels = std::vector<std::string>;

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

LineChart chart_with(std::vector<ChartPoint> points) {
  LineChart chart;
  chart.title = "Throughput";
  chart.series.push_back({"run", 0, std::move(points)});
  return chart;
}

TEST(NiceTicks, AreRoundAndSpanTheRange) {
  EXPECT_EQ(nice_ticks(0, 97, 5, Unit::kNumber), (Values{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(nice_ticks(3, 7.1, 5, Unit::kNumber), (Values{3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(nice_ticks(-3, 3, 3, Unit::kNumber), (Values{-4, -2, 0, 2, 4}));
}

TEST(NiceTicks, OfBytesAreRoundInTheirUnit) {
  constexpr double kGiB = 0x1p30;
  EXPECT_EQ(nice_ticks(0, 9.3 * kGiB, 5, Unit::kBytes), (Values{0, 2 * kGiB, 4 * kGiB, 6 * kGiB, 8 * kGiB, 10 * kGiB}));
  EXPECT_EQ(tick_labels({0, 0.5 * kGiB, kGiB, 1.5 * kGiB}, Unit::kBytes),
            (Labels{"0", "0.5 GiB", "1.0 GiB", "1.5 GiB"}));
}

TEST(NiceTicks, OfOneValueHaveRoomAroundIt) {
  for (const double value : {0.0, 5.0, -5.0, 1e12}) {
    const Values ticks = nice_ticks(value, value, 5, Unit::kNumber);
    ASSERT_GE(ticks.size(), 2U) << value;
    EXPECT_LE(ticks.front(), value);
    EXPECT_GE(ticks.back(), value);
  }
}

TEST(TickLabels, HaveTheDecimalsThatKeepThemApart) {
  EXPECT_EQ(tick_labels({0, 0.02, 0.04}, Unit::kSeconds), (Labels{"0", "20 ms", "40 ms"}));
  EXPECT_EQ(tick_labels({0, 0.25, 0.5}, Unit::kNumber), (Labels{"0", "0.25", "0.50"}));
  EXPECT_EQ(tick_labels({0, 10000, 20000}, Unit::kNumber), (Labels{"0", "10k", "20k"}));
  EXPECT_EQ(tick_labels({0, 0.1, 0.2}, Unit::kShare), (Labels{"0", "10%", "20%"}));
}

TEST(Log2Ticks, ArePowersOfTwoAndThinnedOut) {
  EXPECT_EQ(log2_ticks(3, 60, 9), (Values{2, 4, 8, 16, 32, 64}));
  EXPECT_EQ(log2_ticks(8, 8, 9), (Values{8, 16}));
  const Values thinned = log2_ticks(1, 65536, 4);
  EXPECT_EQ(thinned, (Values{1, 16, 256, 4096, 65536}));
}

TEST(ScaleOfAnAxis, PlacesValues) {
  EXPECT_DOUBLE_EQ(Scale(0, 10, 0, 100).at(2.5), 25);
  EXPECT_DOUBLE_EQ(Scale(0, 10, 100, 0).at(2.5), 75);
  EXPECT_DOUBLE_EQ(Scale(1, 16, 0, 100, AxisKind::kLog2).at(4), 50);
  EXPECT_DOUBLE_EQ(Scale(1e-6, 1, 0, 60, AxisKind::kLog10).at(1e-3), 30);
  EXPECT_DOUBLE_EQ(Scale(1e-6, 1, 0, 60, AxisKind::kLog10).at(0), 0);
  EXPECT_DOUBLE_EQ(Scale(0, 10, 0, 100).at(20), 100) << "stays inside";
}

TEST(LineChartDrawing, HasEachPointOnce) {
  const std::string svg = draw(chart_with({{8, 100, 95, 105, "a"}, {16, 150, 140, 160, "b"}, {32, 160, {}, {}, "c"}}));
  EXPECT_EQ(count(svg, "class=\"dot point"), 3U);
  EXPECT_EQ(count(svg, "class=\"band\""), 1U);
  EXPECT_EQ(count(svg, "<ul class=\"legend\""), 0U) << "one series needs none";
}

TEST(LineChartDrawing, LeavesOutWhatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(draw(chart_with({})), "");
  EXPECT_EQ(draw(chart_with({{1, nan}})), "");
  const std::string svg = draw(chart_with({{1, 2}, {2, nan}, {3, 4}}));
  EXPECT_EQ(count(svg, "class=\"dot point"), 2U);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(LineChartDrawing, EscapesEveryText) {
  const std::string evil = "</svg><script>alert(\"1\")</script>";
  LineChart chart = chart_with({{1, 2, {}, {}, evil}, {2, 3, {}, {}, evil}});
  chart.title = chart.note = chart.x.title = evil;
  chart.series[0].name = evil;
  chart.series.push_back({evil, 1, {{1, 1, {}, {}, evil}}});
  chart.marks.push_back({1, evil, {}});
  chart.thresholds.push_back({2, evil});
  chart.thresholds.push_back({2000, evil});
  const std::string svg = draw(chart);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_EQ(svg.find("alert(\""), std::string::npos);
  EXPECT_EQ(count(svg, "</figure>"), 1U);
}

TEST(LineChartDrawing, NamesAThresholdThatIsFarAbove) {
  LineChart chart = chart_with({{1, 2}, {2, 3}});
  chart.thresholds.push_back({3.5, "near"});
  chart.thresholds.push_back({1000, "far"});
  const std::string svg = draw(chart);
  EXPECT_EQ(count(svg, "<path class=\"threshold\""), 1U);
  EXPECT_NE(svg.find("↑ far"), std::string::npos);
}

TEST(LineChartDrawing, KeepsTheWordsOfNeighbouringMarksApart) {
  LineChart chart = chart_with({{1, 2}, {100, 3}});
  const auto height = [](const std::string& svg) {
    const std::size_t at = svg.find("viewBox=\"0 0 640 ") + 17;
    return std::stoi(svg.substr(at));
  };
  chart.marks = {{10, "knee 10", {}}, {90, "edge 90", {}}};
  const int apart = height(draw(chart));
  chart.marks = {{10, "knee 10", {}}, {12, "edge 12", {}}};
  EXPECT_GT(height(draw(chart)), apart);
}

TEST(LineChartDrawing, DrawsZerosOnALogarithmicAxis) {
  LineChart chart = chart_with({{1, 0}, {2, 1e-6}, {3, 1e-3}});
  chart.y.kind = AxisKind::kLog10;
  EXPECT_EQ(count(draw(chart), "class=\"dot point"), 3U);
  chart.series[0].points = {{1, 0}, {2, 0}};
  EXPECT_EQ(count(draw(chart), "class=\"dot point"), 2U);
}

TEST(LineChartDrawing, CountsInWholeNumbers) {
  LineChart chart = chart_with({{0, 10}, {3, 60}});
  EXPECT_NE(draw(chart).find(">0.5<"), std::string::npos);
  chart.x.is_whole = true;
  EXPECT_NE(draw(chart).find(">3</text>"), std::string::npos);
  EXPECT_EQ(draw(chart).find(">0.5<"), std::string::npos);
}

TEST(LineChartDrawing, ShortensWhatHasNoRoom) {
  LineChart chart = chart_with({{1, 2}, {2, 3}});
  std::string text;
  for (int i = 0; i < 100; ++i) text += "é";
  chart.thresholds.push_back({2.5, text});
  const std::string svg = draw(chart);
  EXPECT_NE(svg.find("é…</text>"), std::string::npos);
  EXPECT_NE(svg.find(text), std::string::npos) << "whole in the description";
}

TEST(BarChartDrawing, StacksSegmentsAndNamesThem) {
  BarChart chart;
  chart.title = "Where the time goes";
  chart.unit = Unit::kShare;
  chart.rows.push_back({"step", {{"input", 0.5, 0}, {"device", 0.25, 1}, {"<waiting>", 0.25, 2}}});
  const std::string svg = draw(chart);
  EXPECT_EQ(count(svg, "class=\"piece point\""), 3U);
  EXPECT_NE(svg.find("input: 50.0%"), std::string::npos);
  EXPECT_EQ(svg.find("<waiting>"), std::string::npos);
  chart.rows[0].segments = {{"nothing", 0, 0}};
  EXPECT_EQ(draw(chart), "");
}

}  // namespace
}  // namespace anymps::lab::html
