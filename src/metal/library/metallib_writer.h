// Writes .metallib containers as Apple's compiler does: a genuine library whose functions are written again comes out
// byte for byte (tests/metal/metallib_writer_test.cpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "metal/library/metallib.h"

namespace anymps::metal::library {

// For which macOS, and in which minor version of format 2. Apple's compiler writes 7 with AIR 2.6 for macOS 14, and 9
// with AIR 2.8 for macOS 26.
struct LibraryTarget {
  std::uint16_t format_minor = 7;
  std::uint16_t macos_major = 14;
  std::uint16_t macos_minor = 0;
};

// The functions in this order; a hash is computed from the bitcode, whatever the entry says. Throws MetallibError for
// names that the container cannot hold: empty, with a zero in them, too long, or twice the same.
std::vector<std::byte> write_metallib(std::span<const FunctionEntry> functions, const LibraryTarget& target = {});

}  // namespace anymps::metal::library
