#include "superres/pictures/quality.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

namespace anymps::superres::pictures {
namespace {

constexpr std::int64_t kWindow = 11;
constexpr double kSigma = 1.5;

at::Tensor without_border(const at::Tensor& picture, int border) {
  const std::int64_t height = picture.size(2) - 2 * border;
  const std::int64_t width = picture.size(3) - 2 * border;
  if (height < 1 || width < 1) return picture;
  return picture.narrow(2, border, height).narrow(3, border, width);
}

// Of 0 to 1, in double precision on the CPU, as the figures of papers are.
at::Tensor measured(const at::Tensor& rgb, int border) {
  return without_border(luma(rgb.detach().to(at::kCPU, at::kDouble).clamp(0, 1)), border);
}

at::Tensor gaussian() {
  const at::Tensor away = at::arange(kWindow, at::kDouble) - (kWindow - 1) / 2;
  const at::Tensor line = at::exp(-away * away / (2 * kSigma * kSigma));
  const at::Tensor square = line.unsqueeze(1) * line.unsqueeze(0);
  return (square / square.sum()).view({1, 1, kWindow, kWindow});
}

}  // namespace

at::Tensor luma(const at::Tensor& rgb) {
  const at::Tensor red = rgb.narrow(1, 0, 1);
  const at::Tensor green = rgb.narrow(1, 1, 1);
  const at::Tensor blue = rgb.narrow(1, 2, 1);
  return (16 + 65.481 * red + 128.553 * green + 24.966 * blue) / 255;
}

double psnr(const at::Tensor& one, const at::Tensor& other, int border) {
  const double error = (measured(one, border) - measured(other, border)).square().mean().item<double>();
  return error > 0 ? -10 * std::log10(error) : std::numeric_limits<double>::infinity();
}

double ssim(const at::Tensor& one, const at::Tensor& other, int border) {
  const at::Tensor a = measured(one, border);
  const at::Tensor b = measured(other, border);
  if (a.size(2) < kWindow || a.size(3) < kWindow) return std::numeric_limits<double>::quiet_NaN();
  const at::Tensor window = gaussian();
  const auto mean = [&window](const at::Tensor& x) { return at::conv2d(x, window); };
  constexpr double kC1 = 0.01 * 0.01;
  constexpr double kC2 = 0.03 * 0.03;
  const at::Tensor mean_a = mean(a);
  const at::Tensor mean_b = mean(b);
  const at::Tensor variance_a = mean(a * a) - mean_a * mean_a;
  const at::Tensor variance_b = mean(b * b) - mean_b * mean_b;
  const at::Tensor covariance = mean(a * b) - mean_a * mean_b;
  const at::Tensor map = (2 * mean_a * mean_b + kC1) * (2 * covariance + kC2) /
                         ((mean_a * mean_a + mean_b * mean_b + kC1) * (variance_a + variance_b + kC2));
  return map.mean().item<double>();
}

}  // namespace anymps::superres::pictures
