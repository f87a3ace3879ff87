// The straight line that lies nearest to some points, by least squares.
#pragma once

#include <span>
#include <vector>

namespace anymps::lab::base {

struct StraightLine {
  double base = 0;   // at 0
  double slope = 0;  // 0 where all points have the same x

  // Points with these x and y, of which there are as many of each.
  static StraightLine through(std::span<const double> x, std::span<const double> y);
  // Values at 0, 1, 2, ...
  static StraightLine over_index(std::span<const double> values);

  double at(double x) const { return base + slope * x; }
};

}  // namespace anymps::lab::base
