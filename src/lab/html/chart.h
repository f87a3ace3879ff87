// Charts as inline SVG: they are there without scripts, in print, and in light and dark, because their colours are
// variables of the page's style (chart_style()). Series differ in colour, dashes and the shape of their points, so that
// no colour alone carries a meaning. Each point carries its read-out for the page's script and as a tooltip.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::lab::html {

enum class Unit { kNumber, kBytes, kSeconds, kShare };

// "12.3 MiB", "4.5 ms", "26.0%", "1234".
std::string value_text(double value, Unit unit);

// Round values from at or below `low` to at or above `high`, about `count` of them, round in the unit (bytes: in KiB,
// MiB and so on). Never empty; `low` and `high` may be equal.
std::vector<double> nice_ticks(double low, double high, std::size_t count, Unit unit);

// Powers of two that span `low` to `high` (both above 0), thinned out to at most `most` gaps.
std::vector<double> log2_ticks(double low, double high, std::size_t most);

// Their labels, all in the same unit.
std::vector<std::string> tick_labels(const std::vector<double>& ticks, Unit unit);

enum class AxisKind { kLinear, kLog2, kLog10 };

struct Axis {
  std::string title;
  Unit unit = Unit::kNumber;
  AxisKind kind = AxisKind::kLinear;
  bool from_zero = false;
  // Shown even where no point lies there, so that two charts can be compared.
  std::optional<double> low = {};
  std::optional<double> high = {};
  bool is_whole = false;  // counts something: no ticks between whole numbers
};

// Where a value lies between two ends. On a logarithmic axis what is not above 0 lies at the lower end.
class Scale {
 public:
  Scale(double low, double high, double from, double to, AxisKind kind = AxisKind::kLinear);
  double at(double value) const;

 private:
  double along(double value) const;

  AxisKind kind_;
  double low_;
  double high_;
  double from_;
  double to_;
};

struct ChartPoint {
  double x = 0;
  double y = 0;
  std::optional<double> low = {};  // of its spread
  std::optional<double> high = {};
  std::string text = {};   // the read-out
  bool estimated = false;  // drawn hollow, and the line to it dotted
};

struct ChartSeries {
  std::string name;
  std::size_t style = 0;  // colour, dashes and shape
  std::vector<ChartPoint> points;
  bool has_markers = true;
};

// A vertical line with a word at its top.
struct ChartMark {
  double x = 0;
  std::string text;
  std::optional<std::size_t> style;  // of the series that it belongs to
};

// A horizontal line. One far above all points is named at the upper edge instead of squeezing them.
struct ChartThreshold {
  double y = 0;
  std::string text;
};

struct LineChart {
  std::string title;
  std::string note;
  Axis x;
  Axis y;
  std::vector<ChartSeries> series;
  std::vector<ChartMark> marks;
  std::vector<ChartThreshold> thresholds;
};

struct BarSegment {
  std::string name;
  double value = 0;
  std::size_t style = 0;
};

struct BarRow {
  std::string label;
  std::vector<BarSegment> segments;  // stacked
};

// Horizontal bars, one below the other, with their names above them.
struct BarChart {
  std::string title;
  std::string note;
  Unit unit = Unit::kNumber;
  std::vector<BarRow> rows;
};

// A <figure>; empty where there is nothing to draw. Points and values that are not finite are left out.
std::string draw(const LineChart& chart);
std::string draw(const BarChart& chart);

// What the page needs for them.
std::string_view chart_style();

}  // namespace anymps::lab::html
