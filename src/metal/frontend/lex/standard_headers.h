// The headers of src/metal/stdlib, which the build puts into the library.
#pragma once

#include <span>
#include <string_view>

namespace anymps::metal::frontend::lex {

struct StandardHeader {
  std::string_view name;  // "metal_math"
  std::string_view text;
};

std::span<const StandardHeader> standard_headers();

}  // namespace anymps::metal::frontend::lex
