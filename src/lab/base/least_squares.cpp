#include "lab/base/least_squares.h"

#include <cstddef>
#include <numeric>

namespace anymps::lab::base {

StraightLine StraightLine::through(std::span<const double> x, std::span<const double> y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  double across = 0;
  double along = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    across += (x[i] - mean_x) * (y[i] - mean_y);
    along += (x[i] - mean_x) * (x[i] - mean_x);
  }
  const double slope = along > 0 ? across / along : 0;
  return {mean_y - slope * mean_x, slope};
}

StraightLine StraightLine::over_index(std::span<const double> values) {
  std::vector<double> index(values.size());
  std::iota(index.begin(), index.end(), 0.0);
  return through(index, values);
}

}  // namespace anymps::lab::base
