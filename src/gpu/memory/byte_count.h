// A number of bytes over time, counted as PyTorch's allocators count theirs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace anymps::gpu::memory {

struct ByteCount {
  std::int64_t current = 0;
  std::int64_t peak = 0;       // of current, since the last reset_peak()
  std::int64_t allocated = 0;  // all increases, since the last reset_accumulated()
  std::int64_t freed = 0;

  void increase(std::size_t bytes) {
    current += static_cast<std::int64_t>(bytes);
    allocated += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, current);
  }
  void decrease(std::size_t bytes) {
    current -= static_cast<std::int64_t>(bytes);
    freed += static_cast<std::int64_t>(bytes);
  }
  void reset_peak() { peak = current; }
  void reset_accumulated() { allocated = freed = 0; }
};

// "1.50 GiB", in the words of PyTorch's messages: 1,024 of a unit are still written in that unit.
std::string format_bytes(std::uint64_t bytes);

}  // namespace anymps::gpu::memory
