#include "metal/tool/number_json.h"

#include <cmath>

namespace anymps::metal::tool {

llvm::json::Value json_of(Number number) {
  if (const auto* whole = std::get_if<std::int64_t>(&number)) return *whole;
  if (const auto* whole = std::get_if<std::uint64_t>(&number)) return *whole;
  const double value = std::get<double>(number);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return value;
}

}  // namespace anymps::metal::tool
