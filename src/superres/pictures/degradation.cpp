#include "superres/pictures/degradation.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <random>
#include <stdexcept>

#include "superres/files/image_file.h"
#include "superres/pictures/pixels.h"
#include "superres/pictures/scale.h"

namespace anymps::superres::pictures {
namespace {

const char* downscale_name(Downscale downscale) {
  switch (downscale) {
    case Downscale::kArea:
      return "area";
    case Downscale::kMixed:
      return "mixed";
    default:
      return "bicubic";
  }
}

at::Tensor smaller(const at::Tensor& high, int scale, bool area) {
  const at::Tensor batch = high.unsqueeze(0);
  const std::array<std::int64_t, 2> size{high.size(1) / scale, high.size(2) / scale};
  const at::Tensor low =
      area ? at::adaptive_avg_pool2d(batch, size)
           : at::_upsample_bicubic2d_aa(batch, size, /*align_corners=*/false, 1.0 / scale, 1.0 / scale);
  return low.squeeze(0).clamp(0, 1);
}

}  // namespace

void Degradation::check() const {
  check_scale(scale);
  if (noise < 0 || noise > 100) throw std::invalid_argument(fmt::format("noise {} is not within 0 and 100", noise));
  if (jpeg_quality < 0 || jpeg_quality > 100) {
    throw std::invalid_argument(fmt::format("JPEG quality {} is not within 1 and 100", jpeg_quality));
  }
}

nlohmann::json Degradation::to_json() const {
  return {{"scale", scale},
          {"downscale", downscale_name(downscale)},
          {"noise", noise},
          {"jpeg_quality", jpeg_quality},
          {"seed", seed}};
}

Downscale downscale_from(const std::string& name) {
  for (const Downscale downscale : {Downscale::kBicubic, Downscale::kArea, Downscale::kMixed}) {
    if (name == downscale_name(downscale)) return downscale;
  }
  throw std::invalid_argument(fmt::format("`{}` is none of bicubic, area and mixed", name));
}

files::Image degraded(const files::Image& high, const Degradation& degradation, std::uint64_t number) {
  std::seed_seq seeds{static_cast<std::uint32_t>(degradation.seed), static_cast<std::uint32_t>(degradation.seed >> 32),
                      static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32)};
  std::mt19937_64 random(seeds);
  // The standard's distributions differ between libraries; these are the same everywhere.
  const auto chance = [&random] { return static_cast<double>(random() >> 11) * 0x1.0p-53; };
  const bool area =
      degradation.downscale == Downscale::kArea || (degradation.downscale == Downscale::kMixed && chance() < 0.5);
  at::Tensor low = smaller(tensor_of(high), degradation.scale, area);
  if (degradation.noise > 0) {
    const double strength = chance() * degradation.noise / 255;
    const at::Generator generator = at::detail::createCPUGenerator(random());
    low = low + at::randn(low.sizes(), generator, low.options()) * strength;
  }
  files::Image image = image_of(low, high.bits);
  if (degradation.jpeg_quality > 0 && degradation.jpeg_quality < 100) {
    const int quality = degradation.jpeg_quality + static_cast<int>(chance() * (101 - degradation.jpeg_quality));
    const files::Image again = files::decode_image(files::encode_jpeg(image_of(tensor_of(image), 8), quality));
    image = image_of(tensor_of(again), high.bits);
  }
  return image;
}

}  // namespace anymps::superres::pictures
