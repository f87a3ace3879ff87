// How good a picture is beside the one it should be.
#pragma once

#include <ATen/core/Tensor.h>

namespace anymps::superres::pictures {

// The luma of BT.601 as television has it, 16 to 235 of 255, from RGB of 0 to 1: what papers on super-resolution
// measure on. N x 3 x H x W becomes N x 1 x H x W.
at::Tensor luma(const at::Tensor& rgb);

// In dB, on the luma, `border` pixels at each side left out; of single pictures, N = 1. Infinite where they are equal.
double psnr(const at::Tensor& one, const at::Tensor& other, int border);
// The mean over an 11 x 11 Gaussian window of 1.5 (Wang et al., 2004), where it lies inside.
double ssim(const at::Tensor& one, const at::Tensor& other, int border);

}  // namespace anymps::superres::pictures
