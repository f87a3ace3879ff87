// What keeps a file from being a picture.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "superres/files/unfolding.h"

namespace anymps::superres::files {

// What is wrong with a file, in a few words without its name.
struct ImageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Before memory is taken for it: a few bytes of a file may claim any size. Throws ImageError.
inline void check_size(std::uint64_t width, std::uint64_t height) {
  if (width == 0 || height == 0) throw ImageError("it has no pixels");
  if (width > most_pixels() / height) {
    throw ImageError("it claims " + std::to_string(width) + " x " + std::to_string(height) +
                     " pixels: too many (ANYMPS_SR_MOST_PIXELS raises the bound)");
  }
}

}  // namespace anymps::superres::files
