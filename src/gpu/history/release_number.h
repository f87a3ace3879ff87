// Releases of PyTorch compared as numbers: as texts, 2.13 would be older than 2.4.
#pragma once

#include <array>
#include <string_view>

namespace anymps::gpu::history {

// "2.13.0", "2.13.0+cpu" and "2.13" alike.
std::array<unsigned, 3> release_number(std::string_view release);

}  // namespace anymps::gpu::history
