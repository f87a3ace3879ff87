// What keeps a file from being a picture.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace anymps::superres {

// What is wrong with a file, in a few words without its name.
struct ImageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Before memory is taken for it: a few bytes of a file may claim any size. Throws ImageError.
inline void check_size(std::uint64_t width, std::uint64_t height) {
  constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 28;
  if (width == 0 || height == 0) throw ImageError("it has no pixels");
  if (width > kMostPixels || height > kMostPixels || width * height > kMostPixels) {
    throw ImageError("it claims " + std::to_string(width) + " x " + std::to_string(height) + " pixels: too many");
  }
}

}  // namespace anymps::superres
