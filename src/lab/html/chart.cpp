#include "lab/html/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "lab/base/text_wrap.h"
#include "lab/base/units.h"
#include "lab/html/escape.h"

namespace anymps::lab::html {
namespace {

// The drawing's own units. The figure scales with its column; where that is narrow, the style enlarges the letters, for
// which the margins have room.
constexpr double kChartWidth = 640;
constexpr double kPlotHeight = 230;
constexpr double kLeft = 82;
constexpr double kRight = 14;
constexpr double kTop = 12;
constexpr double kBottom = 50;
constexpr double kMarkRow = 21;
constexpr double kLetter = 9.8;  // width of an average letter, at its largest
constexpr std::size_t kStyles = 6;
// A threshold further above the points than this is only named.
constexpr double kSqueeze = 2.5;
// More points than this are a line; each shows itself when it is read out.
constexpr std::size_t kMostDots = 60;

struct UnitStep {
  double size = 1;
  const char* suffix = "";
};

UnitStep step_for(Unit unit, double top) {
  static constexpr std::array kBytes = {UnitStep{1, " B"}, UnitStep{0x1p10, " KiB"}, UnitStep{0x1p20, " MiB"},
                                        UnitStep{0x1p30, " GiB"}, UnitStep{0x1p40, " TiB"}};
  static constexpr std::array kSeconds = {UnitStep{1e-6, " µs"}, UnitStep{1e-3, " ms"}, UnitStep{1, " s"}};
  static constexpr std::array kNumbers = {UnitStep{1, ""}, UnitStep{1e3, "k"}, UnitStep{1e6, "M"}, UnitStep{1e9, "G"}};
  const auto largest = [top](const auto& steps) {
    UnitStep chosen = steps.front();
    for (const UnitStep& step : steps) {
      if (std::abs(top) >= step.size) chosen = step;
    }
    return chosen;
  };
  switch (unit) {
    case Unit::kBytes:
      return largest(kBytes);
    case Unit::kSeconds:
      return largest(kSeconds);
    case Unit::kShare:
      return {0.01, "%"};
    default:
      return std::abs(top) >= 1e4 ? largest(kNumbers) : kNumbers.front();
  }
}

// 1, 2 or 5 times a power of ten, at least `rough`.
double round_step(double rough) {
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= rough * (1 - 1e-9)) return digit * power;
  }
  return 10 * power;
}

std::vector<double> log10_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log10(high) - 1e-9)));
  const int step = (last - first + 5) / 6;
  std::vector<double> ticks;
  for (int power = first; power < last + step; power += step) ticks.push_back(std::pow(10, power));
  return ticks;
}

std::vector<std::string> axis_labels(const Axis& axis, const std::vector<double>& ticks) {
  if (axis.kind == AxisKind::kLinear) return tick_labels(ticks, axis.unit);
  // From one end to the other values differ by too much for a unit in common.
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(axis.kind == AxisKind::kLog2 ? value_text(tick, axis.unit) : fmt::format("{:.0e}", tick));
  }
  return labels;
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void take(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  void take(const std::optional<double>& value) {
    if (value) take(*value);
  }
};

std::vector<double> axis_ticks(const Axis& axis, Range range, std::size_t count) {
  range.take(axis.low);
  range.take(axis.high);
  if (axis.kind != AxisKind::kLinear && range.low > 0) {
    return axis.kind == AxisKind::kLog2 ? log2_ticks(range.low, range.high, count) : log10_ticks(range.low, range.high);
  }
  if (axis.from_zero) range.take(0);
  const bool too_fine = axis.is_whole && range.high - range.low < static_cast<double>(count);
  if (!too_fine) return nice_ticks(range.low, range.high, count, axis.unit);
  std::vector<double> ticks;
  for (double at = std::floor(range.low); at <= std::max(range.high, range.low + 1); ++at) ticks.push_back(at);
  return ticks;
}

bool is_drawn(const ChartPoint& point) { return std::isfinite(point.x) && std::isfinite(point.y); }

std::string style_class(std::size_t style) { return fmt::format("s{}", style % kStyles); }

// Around a point; the fourth series on repeat the shapes in other colours.
std::string marker_path(std::size_t style, double x, double y) {
  switch (style % 4) {
    case 1:
      return fmt::format("M{:.1f} {:.1f}h8v8h-8z", x - 4, y - 4);
    case 2:
      return fmt::format("M{:.1f} {:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z", x, y - 5.5);
    case 3:
      return fmt::format("M{:.1f} {:.1f}l5.2 9h-10.4z", x, y - 5.5);
    default:
      return fmt::format("M{:.1f} {:.1f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", x - 4.5, y);
  }
}

// As much of a text as `width` has room for. The whole of it is in the drawing's description.
std::string fitted(std::string_view text, double width) {
  const auto most = static_cast<std::size_t>(std::max(width / kLetter, 2.0));
  if (base::length_of(text) <= most) return escaped(text);
  std::size_t end = 0;
  for (std::size_t letters = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && ++letters == most) break;
  }
  return escaped(text.substr(0, end)) + "…";
}

// In a legend: a piece of the line with its point.
std::string swatch(const ChartSeries& series) {
  return fmt::format(
      "<svg class=\"swatch {}\" viewBox=\"0 0 34 12\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 "
      "6H33\"/>{}</svg>",
      style_class(series.style),
      series.has_markers ? fmt::format("<path class=\"dot\" d=\"{}\"/>", marker_path(series.style, 17, 6)) : "");
}

std::string caption(const std::string& title, const std::string& note) {
  std::string text = fmt::format("<figcaption><b>{}</b>", escaped(title));
  if (!note.empty()) text += fmt::format(" <span class=\"dim\">{}</span>", escaped(note));
  return text + "</figcaption>\n";
}

std::string legend(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string list = "<ul class=\"legend\">";
  for (const auto& [picture, name] : entries) list += fmt::format("<li>{}{}</li>", picture, escaped(name));
  return list + "</ul>\n";
}

class LineDrawing {
 public:
  explicit LineDrawing(const LineChart& chart) : chart_(chart) {
    for (const ChartSeries& series : chart.series) {
      for (const ChartPoint& point : series.points) {
        if (!is_drawn(point)) continue;
        ++points_;
        x_range_.take(point.x);
        take_y(point.y);
        if (point.low) take_y(*point.low);
        if (point.high) take_y(*point.high);
      }
    }
  }

  std::string take() {
    if (points_ == 0) return {};
    for (const ChartMark& mark : chart_.marks) x_range_.take(mark.x);
    if (y_range_.low > y_range_.high) y_range_ = {0, 1};  // on a logarithmic axis, where all is 0
    const double highest = std::max(y_range_.high, chart_.y.high.value_or(y_range_.high));
    for (const ChartThreshold& threshold : chart_.thresholds) {
      if (threshold.y <= kSqueeze * highest) y_range_.take(threshold.y);
    }
    x_ticks_ = axis_ticks(chart_.x, x_range_, 9);
    y_ticks_ = axis_ticks(chart_.y, y_range_, 5);
    const std::string marks = place_marks();
    return fmt::format(
        "<figure class=\"chart\">\n{}{}<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n{}{}{}{}"
        "</svg>\n</figure>\n",
        caption(chart_.title, chart_.note), series_legend(), kChartWidth, bottom() + kBottom, escaped(summary()),
        grid(), thresholds(), marks, lines());
  }

 private:
  void take_y(double value) {
    if (chart_.y.kind == AxisKind::kLinear || value > 0) y_range_.take(value);
  }

  double top() const { return kTop + static_cast<double>(mark_rows_) * kMarkRow + (chart_.marks.empty() ? 0 : 4); }
  double bottom() const { return top() + kPlotHeight; }
  double x_at(double x) const {
    const Scale scale(x_ticks_.front(), x_ticks_.back(), kLeft, kChartWidth - kRight,
                      x_ticks_.front() > 0 ? chart_.x.kind : AxisKind::kLinear);
    return scale.at(x);
  }
  double y_at(double y) const {
    const Scale scale(y_ticks_.front(), y_ticks_.back(), bottom(), top(),
                      y_ticks_.front() > 0 ? chart_.y.kind : AxisKind::kLinear);
    return scale.at(y);
  }

  // What those hear who do not see it.
  std::string summary() const {
    std::string text = chart_.title + ".";
    for (const ChartSeries& series : chart_.series) {
      const auto is_shown = [](const ChartPoint& point) { return is_drawn(point); };
      if (!series.has_markers || std::ranges::none_of(series.points, is_shown)) continue;
      const auto first = std::ranges::find_if(series.points, is_shown);
      const auto last = std::find_if(series.points.rbegin(), series.points.rend(), is_shown);
      text += fmt::format(" {}: from {} to {} over {} points.", series.name, value_text(first->y, chart_.y.unit),
                          value_text(last->y, chart_.y.unit), std::ranges::count_if(series.points, is_shown));
    }
    for (const ChartMark& mark : chart_.marks) text += " " + mark.text + ".";
    for (const ChartThreshold& threshold : chart_.thresholds) text += " " + threshold.text + ".";
    return text;
  }

  std::string series_legend() const {
    if (chart_.series.size() < 2) return {};
    std::vector<std::pair<std::string, std::string>> entries;
    for (const ChartSeries& series : chart_.series) entries.emplace_back(swatch(series), series.name);
    return legend(entries);
  }

  std::string grid() const {
    std::string drawing;
    const auto y_labels = axis_labels(chart_.y, y_ticks_);
    for (std::size_t i = 0; i < y_ticks_.size(); ++i) {
      const double y = y_at(y_ticks_[i]);
      drawing += fmt::format(
          "<path class=\"{0}\" d=\"M{1:.1f} {2:.1f}H{3:.1f}\"/><text x=\"{4:.1f}\" y=\"{2:.1f}\" dy=\".35em\" "
          "text-anchor=\"end\">{5}</text>\n",
          i == 0 ? "axis" : "grid", kLeft, y, kChartWidth - kRight, kLeft - 8, escaped(y_labels[i]));
    }
    const auto x_labels = axis_labels(chart_.x, x_ticks_);
    for (std::size_t i = 0; i < x_ticks_.size(); ++i) {
      const double x = x_at(x_ticks_[i]);
      drawing += fmt::format(
          "<path class=\"axis\" d=\"M{0:.1f} {1:.1f}v5\"/><text x=\"{0:.1f}\" y=\"{2:.1f}\" "
          "text-anchor=\"{3}\">{4}</text>\n",
          x, bottom(), bottom() + 20, i + 1 == x_ticks_.size() ? "end" : "middle", escaped(x_labels[i]));
    }
    return drawing + fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
                                 (kLeft + kChartWidth - kRight) / 2, bottom() + 42,
                                 fitted(chart_.x.title, kChartWidth - kLeft - kRight));
  }

  std::string thresholds() const {
    std::string drawing;
    for (const ChartThreshold& threshold : chart_.thresholds) {
      if (!std::isfinite(threshold.y)) continue;
      const bool inside = threshold.y <= y_ticks_.back();
      const double y = inside ? y_at(threshold.y) : top();
      if (inside) {
        drawing +=
            fmt::format("<path class=\"threshold\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", kLeft, y, kChartWidth - kRight);
      }
      // Above the line, but not above the plot, where the marks have their words.
      const double text_y = y - 6 < top() + 10 ? y + 16 : y - 6;
      drawing += fmt::format("<text class=\"threshold\" x=\"{:.1f}\" y=\"{:.1f}\">{}{}</text>\n", kLeft + 6, text_y,
                             inside ? "" : "↑ ", fitted(threshold.text, kChartWidth - kLeft - 20));
    }
    return drawing;
  }

  // Their words stand above the plot, in as many rows as it takes to keep them apart.
  std::string place_marks() {
    struct Placed {
      const ChartMark* mark;
      double from;
      std::size_t row;
    };
    std::vector<const ChartMark*> ordered;
    for (const ChartMark& mark : chart_.marks) ordered.push_back(&mark);
    std::ranges::stable_sort(ordered, {}, [](const ChartMark* mark) { return mark->x; });
    std::vector<Placed> placed;
    std::vector<double> row_ends;
    for (const ChartMark* mark : ordered) {
      const double width = kLetter * static_cast<double>(base::length_of(mark->text));
      const double from = std::clamp(x_at(mark->x) - width / 2, 0.0, std::max(0.0, kChartWidth - width));
      const auto free = std::ranges::find_if(row_ends, [from](double end) { return end + 8 < from; });
      const auto row = static_cast<std::size_t>(free - row_ends.begin());
      if (free == row_ends.end()) row_ends.push_back(0);
      row_ends[row] = from + width;
      placed.push_back({mark, from + width / 2, row});
    }
    mark_rows_ = row_ends.size();
    std::string drawing;
    for (const Placed& one : placed) {
      const double row_y = kTop + static_cast<double>(one.row) * kMarkRow + 8;
      const double x = x_at(one.mark->x);
      drawing += fmt::format(
          "<g class=\"mark {}\"><path d=\"M{:.1f} {:.1f}V{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
          "text-anchor=\"middle\">{}</text></g>\n",
          one.mark->style ? style_class(*one.mark->style) : "plain", x, row_y + 6, bottom(), one.from, row_y,
          fitted(one.mark->text, kChartWidth));
    }
    return drawing;
  }

  std::string lines() const {
    std::string drawing;
    for (const ChartSeries& series : chart_.series) {
      drawing += fmt::format("<g class=\"{}{}\">", style_class(series.style), series.has_markers ? "" : " trend");
      drawing += band(series);
      std::string measured;
      std::string estimated;
      const ChartPoint* before = nullptr;
      for (const ChartPoint& point : series.points) {
        if (!is_drawn(point)) continue;
        const std::string place = fmt::format("{:.1f} {:.1f}", x_at(point.x), y_at(point.y));
        if (before == nullptr) {
          measured += "M" + place;
        } else if (point.estimated || before->estimated) {
          estimated += fmt::format("M{:.1f} {:.1f}L{}", x_at(before->x), y_at(before->y), place);
          measured += "M" + place;
        } else {
          measured += "L" + place;
        }
        before = &point;
      }
      drawing += fmt::format("<path class=\"line\" d=\"{}\"/>", measured);
      if (!estimated.empty()) drawing += fmt::format("<path class=\"line guess\" d=\"{}\"/>", estimated);
      if (series.has_markers) drawing += markers(series);
      drawing += "</g>\n";
    }
    return drawing;
  }

  std::string band(const ChartSeries& series) const {
    std::string there;
    std::string back;
    for (const ChartPoint& point : series.points) {
      if (!is_drawn(point) || !point.low || !point.high) continue;
      const double x = x_at(point.x);
      there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x, y_at(*point.high));
      back = fmt::format("L{:.1f} {:.1f}", x, y_at(*point.low)) + back;
    }
    return there.empty() ? "" : fmt::format("<path class=\"band\" d=\"{}{}z\"/>", there, back);
  }

  std::string markers(const ChartSeries& series) const {
    std::string drawing;
    for (const ChartPoint& point : series.points) {
      if (!is_drawn(point)) continue;
      const double x = x_at(point.x);
      const double y = y_at(point.y);
      const std::string text = escaped(series.name.empty() ? point.text : series.name + ": " + point.text);
      drawing += fmt::format(
          "<path class=\"dot point{0}\" data-x=\"{1:.1f}\" data-y=\"{2:.1f}\" data-text=\"{3}\" "
          "d=\"{4}\"><title>{3}</title></path>",
          series.points.size() > kMostDots ? " quiet"
          : point.estimated                ? " guess"
                                           : "",
          x, y, text, marker_path(series.style, x, y));
    }
    return drawing;
  }

  const LineChart& chart_;
  std::size_t points_ = 0;
  std::size_t mark_rows_ = 0;
  Range x_range_;
  Range y_range_;
  std::vector<double> x_ticks_;
  std::vector<double> y_ticks_;
};

double row_total(const BarRow& row) {
  double total = 0;
  for (const BarSegment& segment : row.segments)
    total += std::isfinite(segment.value) ? std::max(0.0, segment.value) : 0;
  return total;
}

std::string bar_legend(const BarChart& chart) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const BarRow& row : chart.rows) {
    if (row.segments.size() < 2) continue;
    for (const BarSegment& segment : row.segments) {
      const bool known = std::ranges::any_of(entries, [&](const auto& entry) { return entry.second == segment.name; });
      if (known) continue;
      entries.emplace_back(fmt::format("<svg class=\"swatch block {}\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">"
                                       "<path class=\"piece\" d=\"M0 0H12V12H0z\"/></svg>",
                                       style_class(segment.style)),
                           segment.name);
    }
  }
  return entries.empty() ? "" : legend(entries);
}

}  // namespace

std::string value_text(double value, Unit unit) {
  switch (unit) {
    case Unit::kBytes:
      return value < 0 ? "-" + value_text(-value, unit)
                       : base::human_bytes(static_cast<std::uint64_t>(std::min(value, 0x1p62)));
    case Unit::kSeconds:
      return value < 0 ? "-" + value_text(-value, unit) : base::human_seconds(value);
    case Unit::kShare:
      return fmt::format("{:.1f}%", 100 * value);
    default:
      return std::abs(value) < 1e6 && value == std::floor(value) ? fmt::format("{:.0f}", value)
                                                                 : fmt::format("{:.4g}", value);
  }
}

std::vector<double> nice_ticks(double low, double high, std::size_t count, Unit unit) {
  if (!(low < high)) {
    const double around = low == 0 ? 1 : std::abs(low) * 0.1;
    low = low >= 0 ? std::max(0.0, low - around) : low - around;
    high += around;
  }
  const double size = step_for(unit, std::max(std::abs(low), std::abs(high))).size;
  double step = round_step((high - low) / size / static_cast<double>(std::max<std::size_t>(count, 1))) * size;
  if (unit == Unit::kBytes) step = std::max(step, 1.0);
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> log2_ticks(double low, double high, std::size_t most) {
  const int first = static_cast<int>(std::floor(std::log2(low) + 1e-9));
  const int last = std::max(first + 1, static_cast<int>(std::ceil(std::log2(high) - 1e-9)));
  const int gaps = static_cast<int>(std::max<std::size_t>(most, 1));
  const int step = (last - first + gaps - 1) / gaps;
  std::vector<double> ticks;
  for (int power = first; power < last + step; power += step) ticks.push_back(std::exp2(power));
  return ticks;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks, Unit unit) {
  double top = 0;
  double gap = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    top = std::max(top, std::abs(ticks[i]));
    if (i != 0) gap = std::min(gap, ticks[i] - ticks[i - 1]);
  }
  const UnitStep step = step_for(unit, top);
  int decimals = 0;
  // As many as keep neighbours apart; a small gap is a rounding error away from a whole number of them.
  while (decimals < 9 && std::isfinite(gap)) {
    const double scaled = gap / step.size * std::pow(10, decimals);
    if (std::abs(scaled - std::round(scaled)) < 1e-6 * scaled && std::round(scaled) >= 1) break;
    ++decimals;
  }
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    labels.push_back(tick == 0 ? "0" : fmt::format("{:.{}f}{}", tick / step.size, decimals, step.suffix));
  }
  return labels;
}

Scale::Scale(double low, double high, double from, double to, AxisKind kind)
    : kind_(kind), low_(low), high_(high), from_(from), to_(to) {}

double Scale::along(double value) const {
  switch (kind_) {
    case AxisKind::kLog2:
      return std::log2(value);
    case AxisKind::kLog10:
      return std::log10(value);
    default:
      return value;
  }
}

double Scale::at(double value) const {
  if (kind_ != AxisKind::kLinear && value <= low_) return from_;
  const double span = along(high_) - along(low_);
  const double share = span > 0 ? (along(value) - along(low_)) / span : 0.5;
  return from_ + (to_ - from_) * std::clamp(share, 0.0, 1.0);
}

std::string draw(const LineChart& chart) { return LineDrawing(chart).take(); }

std::string draw(const BarChart& chart) {
  constexpr double kRow = 50;
  constexpr double kBar = 22;
  double longest = 0;
  for (const BarRow& row : chart.rows) longest = std::max(longest, row_total(row));
  if (longest <= 0) return {};
  std::string summary = chart.title + ".";
  std::string drawing;
  double y = 0;
  for (const BarRow& row : chart.rows) {
    const std::string total = value_text(row_total(row), chart.unit);
    summary += fmt::format(" {}: {}.", row.label, total);
    drawing += fmt::format(
        "<text x=\"0\" y=\"{0:.1f}\">{1}</text><text x=\"{2:.1f}\" y=\"{0:.1f}\" text-anchor=\"end\" "
        "class=\"figure\">{3}</text><path class=\"track\" d=\"M0 {4:.1f}h{2:.1f}v{5:.1f}h-{2:.1f}z\"/>",
        y + 18, fitted(row.label, kChartWidth - 90), kChartWidth, escaped(total), y + 25, kBar);
    double x = 0;
    for (const BarSegment& segment : row.segments) {
      if (!std::isfinite(segment.value) || segment.value <= 0) continue;
      const double width = segment.value / longest * kChartWidth;
      const std::string what = segment.name.empty() ? row.label : segment.name;
      const std::string text = escaped(fmt::format("{}: {}", what, value_text(segment.value, chart.unit)));
      drawing += fmt::format(
          "<g class=\"{0}\"><path class=\"piece point\" data-x=\"{1:.1f}\" data-y=\"{2:.1f}\" data-text=\"{3}\" "
          "d=\"M{4:.2f} {5:.1f}h{6:.2f}v{7:.1f}h-{6:.2f}z\"><title>{3}</title></path></g>",
          style_class(segment.style), x + width / 2, y + 25 + kBar / 2, text, x, y + 25, width, kBar);
      // Its share, where there is room for it: who does not tell the colours apart finds it in the table or here.
      if (row.segments.size() > 1 && width > 60) {
        drawing += fmt::format("<text class=\"inside\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                               x + width / 2, y + 41, escaped(value_text(segment.value, chart.unit)));
      }
      x += width;
    }
    drawing += "\n";
    y += kRow + 6;
  }
  return fmt::format(
      "<figure class=\"chart bars\">\n{}{}<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n{}</svg>\n</figure>\n",
      caption(chart.title, chart.note), bar_legend(chart), kChartWidth, y, escaped(summary), drawing);
}

std::string_view chart_style() {
  return
#include "assets/chart.css.inc"
      ;
}

}  // namespace anymps::lab::html
