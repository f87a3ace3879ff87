// A pair of pictures as it lies in the database: the high resolution, the low one, and a checksum of both.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "superres/files/image.h"

namespace anymps::superres::files {

struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Pair {
  Image high;
  Image low;
};

std::vector<std::uint8_t> encode_record(const Pair& pair);

// Throws RecordError where the bytes are not what encode_record made: too few, of another version, changed.
Pair decode_record(std::span<const std::uint8_t> bytes);

}  // namespace anymps::superres::files
