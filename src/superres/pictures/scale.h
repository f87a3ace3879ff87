// How many times larger a picture becomes.
#pragma once

#include <stdexcept>
#include <string>

namespace anymps::superres::pictures {

// Throws std::invalid_argument where it is none that networks are made for.
inline void check_scale(int scale) {
  if (scale < 2 || scale > 4) throw std::invalid_argument("scale " + std::to_string(scale) + " is none of 2, 3 and 4");
}

}  // namespace anymps::superres::pictures
