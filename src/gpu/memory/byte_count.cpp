#include "gpu/memory/byte_count.h"

#include <cstdio>

namespace anymps::gpu::memory {

std::string format_bytes(std::uint64_t bytes) {
  constexpr double kUnit = 1024;
  if (bytes <= 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / kUnit;
  const char* unit = "KiB";
  for (const char* next : {"MiB", "GiB"}) {
    if (value <= kUnit) break;
    value /= kUnit;
    unit = next;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%.2f %s", value, unit);
  return text;
}

}  // namespace anymps::gpu::memory
