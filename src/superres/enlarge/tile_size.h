// How large a tile may be.
#pragma once

#include <c10/core/Device.h>

#include "superres/networks/network.h"

namespace anymps::superres::enlarge {

inline constexpr int kSmallestTile = 32;
inline constexpr int kLargestTile = 1024;

// Side of the tiles, at low resolution and without their overlap, that the device's memory has room for: by an
// estimate, so that a device may still say that it is too much.
int tile_size(const networks::NetworkOptions& options, int overlap, const c10::Device& device);

}  // namespace anymps::superres::enlarge
