// A picture in memory, as it stood in its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace anymps::superres::files {

struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;                    // 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha
  int bits = 8;                        // of a sample: 8 or 16
  std::vector<std::uint16_t> samples;  // row by row, a pixel's channels together; at most 255 where there are 8 bits

  bool has_alpha() const { return channels == 2 || channels == 4; }
  std::size_t count() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * static_cast<std::size_t>(channels);
  }
};

}  // namespace anymps::superres::files
