// Pictures as tensors and back.
#pragma once

#include <ATen/core/Tensor.h>

#include "superres/files/image.h"

namespace anymps::superres::pictures {

// Channels first, float, 0 to 1, on the CPU.
at::Tensor tensor_of(const files::Image& image);

// Rounded to the nearest sample of `bits` bits; what lies outside 0 to 1 becomes its end.
files::Image image_of(const at::Tensor& pixels, int bits);

// Grey becomes RGB; alpha is left out.
files::Image rgb_of(const files::Image& image);

files::Image cropped(const files::Image& image, int x, int y, int width, int height);

}  // namespace anymps::superres::pictures
