// The low-resolution side of a pair, made from the high one.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "superres/files/image.h"

namespace anymps::superres::pictures {

enum class Downscale { kBicubic, kArea, kMixed };  // mixed: one of the two, by chance

struct Degradation {
  int scale = 2;
  Downscale downscale = Downscale::kBicubic;
  double noise = 0;      // most of it: standard deviation in steps of 8 bits
  int jpeg_quality = 0;  // worst of it, 1 to 100; 0: none
  std::uint64_t seed = 0;

  // Throws std::invalid_argument with a line about what cannot be.
  void check() const;
  nlohmann::json to_json() const;
};

// "bicubic", "area", "mixed". Throws std::invalid_argument for anything else.
Downscale downscale_from(const std::string& name);

// `number` tells pictures apart: with the same seed the same picture gets the same noise, whoever asks. Both sides of
// the picture must be multiples of the scale.
files::Image degraded(const files::Image& high, const Degradation& degradation, std::uint64_t number);

}  // namespace anymps::superres::pictures
