// The first line of a text.
#pragma once

#include <string>
#include <string_view>

namespace anymps::superres::files {

// Errors of PyTorch's go on for lines with where they were raised.
inline std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

}  // namespace anymps::superres::files
