// What the reader and the writer of a .metallib have in common. The layout is described in metallib.h.
#pragma once

#include <cstdint>
#include <string_view>

namespace anymps::metal::library {

inline constexpr std::uint64_t kMetallibHeaderBytes = 88;
inline constexpr std::uint64_t kFunctionCountBytes = 4;
inline constexpr std::string_view kEndTag = "ENDT";

}  // namespace anymps::metal::library
