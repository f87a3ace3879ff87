// Prose for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anymps::lab {

// Breaks at spaces; every line after the first begins with `indent`, which counts towards the width of all. Ends with a
// line break.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

// Characters, not bytes; what takes two columns on a terminal is not provided for.
std::size_t length_of(std::string_view text);

// Keeps the end, which is what tells two source lines apart.
std::string keep_end(std::string_view text, std::size_t width);
// As that, without the middle: what names have in common stands before, what tells them apart behind.
std::string keep_ends(std::string_view text, std::size_t width);

}  // namespace anymps::lab
