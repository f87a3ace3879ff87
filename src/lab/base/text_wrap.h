// Prose for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "lab/base/terminal.h"

namespace anymps::lab::base {

// Breaks at spaces; every line after the first begins with `indent`, which counts towards the width of all. Ends with a
// line break.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

// As that; of a word that is longer than a line of the terminal, the middle is left out.
std::string wrapped(std::string_view text, std::size_t width, std::string_view indent, const Terminal& terminal);
// For what has a line of its own in a pipe: as it is where it fits behind `indent`, else as that.
std::string fitted(std::string_view text, std::string_view indent, const Terminal& terminal);
// The same with `indent` in front.
std::string fitted_line(std::string_view indent, std::string_view text, const Terminal& terminal);

// Characters, not bytes; what takes two columns on a terminal is not provided for.
std::size_t length_of(std::string_view text);

// Keeps the beginning, which is what matters of a line that is quoted.
std::string keep_start(std::string_view text, std::size_t width);
// Keeps the end, which is what tells two source lines apart.
std::string keep_end(std::string_view text, std::size_t width);
// As that, without the middle: what names have in common stands before, what tells them apart behind.
std::string keep_ends(std::string_view text, std::size_t width);

}  // namespace anymps::lab::base
