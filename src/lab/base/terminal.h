// What the terminal behind a file descriptor can show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anymps::lab::base {

// Weights and colours of ECMA-48, for paint.
inline constexpr std::string_view kBold = "1";
inline constexpr std::string_view kDim = "2";
inline constexpr std::string_view kRed = "31";
inline constexpr std::string_view kGreen = "32";
inline constexpr std::string_view kYellow = "33";

struct Terminal {
  std::size_t width = 80;
  bool colour = false;
  bool endless = false;  // a pipe, whose reader gets lines whole; what is wrapped there is wrapped at `width`

  // How long the rest of a line may be that begins with `taken` columns.
  std::size_t room(std::size_t taken = 0) const;

  // With a colour or weight of ECMA-48 ("31", "1"), where there is colour.
  std::string paint(std::string_view code, std::string_view text) const;

  // The width is that of COLUMNS, where it is a number from 40 to 1000, else the terminal's. Colour only on a terminal,
  // and not where NO_COLOR (no-color.org) or TERM=dumb say otherwise.
  static Terminal behind(int file_descriptor);
};

}  // namespace anymps::lab::base
