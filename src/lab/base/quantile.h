// Quantiles of measured values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace anymps::lab::base {

// Of sorted values, at least one: linear interpolation between the two nearest (method 7 of Hyndman and Fan, numpy's
// default).
inline double quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace anymps::lab::base
