#include "gpu/history/release_number.h"

#include <charconv>

namespace anymps::gpu::history {

std::array<unsigned, 3> release_number(std::string_view release) {
  std::array<unsigned, 3> parts{};
  const char* at = release.data();
  const char* const end = at + release.size();
  for (unsigned& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at == end || *at != '.') break;
    ++at;
  }
  return parts;
}

}  // namespace anymps::gpu::history
