#include "superres/enlarge/enlarge.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "superres/device/out_of_memory.h"
#include "superres/pictures/pixels.h"

namespace anymps::superres::enlarge {

at::Tensor enlarged(const at::Tensor& low, int scale) {
  const std::array<std::int64_t, 2> size{low.size(2) * scale, low.size(3) * scale};
  return at::_upsample_bicubic2d_aa(low, size, /*align_corners=*/false, scale, scale).clamp(0, 1);
}

namespace {

at::Tensor in_tiles(networks::Network& network, const at::Tensor& low, int scale, const c10::Device& device,
                    const TileOptions& options, const TileProgress& progress) {
  const at::NoGradGuard constant;
  const std::int64_t height = low.size(1);
  const std::int64_t width = low.size(2);
  const std::int64_t side = options.tile;
  const std::int64_t rows = (height + side - 1) / side;
  const std::int64_t columns = (width + side - 1) / side;
  at::Tensor whole = at::empty({3, height * scale, width * scale}, low.options());
  for (std::int64_t number = 0; number < rows * columns; ++number) {
    const std::int64_t top = number / columns * side;
    const std::int64_t left = number % columns * side;
    const std::int64_t bottom = std::min(height, top + side);
    const std::int64_t right = std::min(width, left + side);
    const std::int64_t above = std::max<std::int64_t>(0, top - options.overlap);
    const std::int64_t before = std::max<std::int64_t>(0, left - options.overlap);
    const std::int64_t below = std::min(height, bottom + options.overlap);
    const std::int64_t behind = std::min(width, right + options.overlap);
    const at::Tensor tile = low.narrow(1, above, below - above).narrow(2, before, behind - before);
    const at::Tensor made = network.forward(tile.unsqueeze(0).to(device)).cpu().squeeze(0);
    whole.narrow(1, top * scale, (bottom - top) * scale)
        .narrow(2, left * scale, (right - left) * scale)
        .copy_(made.narrow(1, (top - above) * scale, (bottom - top) * scale)
                   .narrow(2, (left - before) * scale, (right - left) * scale));
    if (progress) progress(static_cast<std::size_t>(number + 1), static_cast<std::size_t>(rows * columns));
  }
  return whole;
}

}  // namespace

at::Tensor enlarged_in_tiles(networks::Network& network, const at::Tensor& low, int scale, const c10::Device& device,
                             TileOptions& options, const TileProgress& progress) {
  while (true) {
    try {
      return in_tiles(network, low, scale, device, options, progress);
    } catch (const std::exception& error) {
      if (!device::is_out_of_memory(error) || options.tile <= kSmallestTile) throw;
      options.tile = std::max(kSmallestTile, options.tile / 2);
    }
  }
}

at::Tensor enlarged_image(networks::Network& network, const files::Image& image, int scale, const c10::Device& device,
                          TileOptions& options, const TileProgress& progress) {
  const at::Tensor colours = pictures::tensor_of(pictures::rgb_of(image));
  at::Tensor made = enlarged_in_tiles(network, colours, scale, device, options, progress);
  if (image.channels < 3) made = made.mean(0, /*keepdim=*/true);
  if (image.has_alpha()) {
    const at::Tensor alpha = pictures::tensor_of(image).narrow(0, image.channels - 1, 1).unsqueeze(0);
    made = at::cat({made, enlarged(alpha, scale).squeeze(0)});
  }
  return made;
}

}  // namespace anymps::superres::enlarge
