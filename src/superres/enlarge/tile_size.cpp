#include "superres/enlarge/tile_size.h"

#include <ATen/detail/MPSHooksInterface.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "gpu/support/machine_memory.h"

namespace anymps::superres::enlarge {
namespace {

// The part of it that one picture may take: convolutions want room of their own.
constexpr double kMemoryShare = 0.25;

// PyTorch takes no more of mps than this share of what Metal recommends; 0 is no limit.
double watermark() {
  const char* text = std::getenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO");
  const double ratio = text != nullptr ? std::strtod(text, nullptr) : 1;
  return ratio > 0 ? std::min(1.0, ratio) : 1;
}

double free_bytes(const c10::Device& device) {
  if (device.is_mps()) {
    const at::MPSHooksInterface& hooks = at::detail::getMPSHooks();
    return watermark() * static_cast<double>(hooks.getRecommendedMaxMemory()) -
           static_cast<double>(hooks.getCurrentAllocatedMemory());
  }
  if (device.is_cpu()) return static_cast<double>(gpu::support::available_memory());
  return 8e9;  // a GPU of today has it; one that has less says so
}

// Around the upsampler, where the most is held at once.
double bytes_of_a_pixel(const networks::NetworkOptions& options) {
  constexpr double kGridValues = 64;  // coordinates of four groups, in several steps
  const double squared = options.scale * options.scale;
  const double grid = options.upsampler == networks::Upsampler::kDySample ? kGridValues * squared : 0;
  return sizeof(float) * (options.width * (2 * squared + 6) + grid);
}

}  // namespace

int tile_size(const networks::NetworkOptions& options, int overlap, const c10::Device& device) {
  const double pixels = std::max(0.0, kMemoryShare * free_bytes(device)) / bytes_of_a_pixel(options);
  const double side = std::sqrt(pixels) - 2 * overlap;
  return static_cast<int>(std::clamp<double>(std::floor(side / 16) * 16, kSmallestTile, kLargestTile));
}

}  // namespace anymps::superres::enlarge
