// How much a file may unfold to. A compressed file of kilobytes can claim gigabytes, and memory is taken before anybody
// sees that there is nothing in them.
#pragma once

#include <cstdint>

namespace anymps::superres::files {

// Of a picture: ANYMPS_SR_MOST_PIXELS, or 134 million, which is more than any camera has.
std::uint64_t most_pixels();

// Of a file of weights, in bytes of memory: ANYMPS_SR_MOST_BYTES, or sixteen times the file and 64 MiB. What PyTorch
// writes is not compressed.
std::uint64_t most_bytes_of_weights(std::uint64_t file_bytes);

}  // namespace anymps::superres::files
