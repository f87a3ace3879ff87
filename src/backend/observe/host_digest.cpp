#include "backend/observe/host_digest.h"

#include <algorithm>
#include <cstring>

namespace anymps::backend::observe {

std::uint64_t host_digest(const void* data, std::size_t bytes) {
  constexpr std::size_t kAll = std::size_t{1} << 20;
  constexpr std::size_t kChunk = 4096;
  const auto* const begin = static_cast<const unsigned char*>(data);
  const std::size_t stride = bytes <= kAll ? kChunk : std::max(kChunk, bytes / (kAll / kChunk));
  std::uint64_t result = bytes;
  for (std::size_t at = 0; at < bytes; at += stride) {
    const std::size_t end = std::min(at + kChunk, bytes);
    for (std::size_t i = at; i < end; i += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, begin + i, std::min(sizeof(word), end - i));
      result = (result ^ word) * 0x9e3779b97f4a7c15u;
      result ^= result >> 29;
    }
  }
  return result;
}

}  // namespace anymps::backend::observe
