// A number and its noun: "1 epoch", "3 epochs".
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace anymps::lab::base {

// For nouns that take an s.
inline std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

}  // namespace anymps::lab::base
