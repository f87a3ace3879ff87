#include "gpu/support/byte_size.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace anymps::gpu::support {

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string unit;
  for (const char c : std::string_view(end, text.data() + text.size())) {
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (unit.ends_with('b')) unit.pop_back();
  if (unit.ends_with('i')) unit.pop_back();
  constexpr std::string_view kUnits = "kmgt";
  double scale = 1;
  if (!unit.empty()) {
    const std::size_t power = unit.size() == 1 ? kUnits.find(unit[0]) : std::string_view::npos;
    if (power == std::string_view::npos) return std::nullopt;
    scale = std::pow(1024.0, static_cast<double>(power + 1));
  }
  const double bytes = number * scale;
  return bytes < 9e18 ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

}  // namespace anymps::gpu::support
