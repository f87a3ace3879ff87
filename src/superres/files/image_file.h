// Pictures from files and into them: PNG, JPEG and WebP, known by their first bytes and not by their names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "superres/files/image.h"
#include "superres/files/image_error.h"

namespace anymps::superres::files {

// Palettes are resolved, CMYK and animations refused. Throws ImageError.
Image read_image(const std::filesystem::path& path);
Image decode_image(std::span<const std::uint8_t> bytes);

// Of 8 bits, without alpha.
std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality);

}  // namespace anymps::superres::files
