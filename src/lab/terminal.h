// What the terminal behind a file descriptor can show.
#pragma once

#include <cstddef>

namespace anymps::lab {

struct Terminal {
  std::size_t width = 80;
  bool colour = false;

  // Colour only on a terminal, and not where NO_COLOR (no-color.org) or TERM=dumb say otherwise.
  static Terminal behind(int file_descriptor);
};

}  // namespace anymps::lab
