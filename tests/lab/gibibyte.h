// A gibibyte, in bytes.
#pragma once

#include <cstdint>

namespace anymps::lab {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace anymps::lab
