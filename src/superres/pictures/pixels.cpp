#include "superres/pictures/pixels.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace anymps::superres::pictures {

at::Tensor tensor_of(const files::Image& image) {
  const double largest = image.bits == 16 ? 65535 : 255;
  // A copy is made below, so nothing writes to the samples.
  auto* samples = const_cast<std::uint16_t*>(image.samples.data());
  return at::from_blob(samples, {image.height, image.width, image.channels}, at::kUInt16)
      .to(at::kFloat)
      .div_(largest)
      .permute({2, 0, 1})
      .contiguous();
}

files::Image image_of(const at::Tensor& pixels, int bits) {
  const double largest = bits == 16 ? 65535 : 255;
  const at::Tensor rows = pixels.detach()
                              .to(at::kCPU, at::kFloat)
                              .clamp(0, 1)
                              .mul(largest)
                              .round()
                              .permute({1, 2, 0})
                              .to(at::kInt)
                              .contiguous();
  files::Image image{
      static_cast<int>(rows.size(1)), static_cast<int>(rows.size(0)), static_cast<int>(rows.size(2)), bits, {}};
  const auto* begin = rows.const_data_ptr<std::int32_t>();
  image.samples.assign(begin, begin + rows.numel());
  return image;
}

files::Image rgb_of(const files::Image& image) {
  files::Image made{image.width, image.height, 3, image.bits, {}};
  made.samples.reserve(made.count());
  const auto channels = static_cast<std::size_t>(image.channels);
  const bool grey = image.channels < 3;
  for (std::size_t pixel = 0; pixel < image.samples.size(); pixel += channels) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      made.samples.push_back(image.samples[pixel + (grey ? 0 : channel)]);
    }
  }
  return made;
}

files::Image cropped(const files::Image& image, int x, int y, int width, int height) {
  files::Image made{width, height, image.channels, image.bits, {}};
  made.samples.reserve(made.count());
  const auto row = static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  const auto taken = static_cast<std::ptrdiff_t>(width) * image.channels;
  for (int line = y; line < y + height; ++line) {
    const auto begin = image.samples.begin() + static_cast<std::ptrdiff_t>(row * static_cast<std::size_t>(line)) +
                       static_cast<std::ptrdiff_t>(x) * image.channels;
    made.samples.insert(made.samples.end(), begin, begin + taken);
  }
  return made;
}

}  // namespace anymps::superres::pictures
