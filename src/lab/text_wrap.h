// Prose for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anymps::lab {

// Breaks at spaces; every line after the first begins with `indent`, which counts towards the width of all. Ends with a
// line break.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

}  // namespace anymps::lab
