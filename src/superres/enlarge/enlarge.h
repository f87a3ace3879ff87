// Enlarging: without a network, and with one, in tiles.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "superres/enlarge/tile_size.h"
#include "superres/files/image.h"
#include "superres/networks/network.h"

namespace anymps::superres::enlarge {

// Bicubic, N x C x H x W of 0 to 1.
at::Tensor enlarged(const at::Tensor& low, int scale);

struct TileOptions {
  int tile = kLargestTile;  // side at low resolution
  int overlap = 0;          // at each side of a tile beside what it is for
};

// Told how many tiles of how many are done.
using TileProgress = std::function<void(std::size_t done, std::size_t all)>;

// `low` is 3 x H x W on the CPU, and so is what comes back; the network is on `device`. Each tile is computed with its
// surroundings, of which nothing is kept: with an overlap of the network's reach it is what the whole picture gives.
// Where the device's memory is short, tiles of half the side are tried, and stay in `options`.
at::Tensor enlarged_in_tiles(networks::Network& network, const at::Tensor& low, int scale, const c10::Device& device,
                             TileOptions& options, const TileProgress& progress);

// Channels x H x W: with the image's alpha, enlarged without a network.
at::Tensor enlarged_image(networks::Network& network, const files::Image& image, int scale, const c10::Device& device,
                          TileOptions& options, const TileProgress& progress);

}  // namespace anymps::superres::enlarge
