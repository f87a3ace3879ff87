#include "lab/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace anymps::lab::base {

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string human_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.3g} µs", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3g} ms", seconds * 1e3);
  if (seconds < 120) return fmt::format("{:.3g} s", seconds);
  // A damaged trace may claim more minutes than an int counts.
  const double minutes = std::floor(seconds / 60);
  return fmt::format("{:.0f} min {:.0f} s", minutes, seconds - 60 * minutes);
}

}  // namespace anymps::lab::base
