// PNG, by libpng.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "superres/files/image.h"

namespace anymps::superres::files {

// Palettes and fewer than 8 bits become 8 bits, a transparent colour becomes alpha. Throws ImageError.
Image decode_png(std::span<const std::uint8_t> bytes);

std::vector<std::uint8_t> encode_png(const Image& image);

}  // namespace anymps::superres::files
