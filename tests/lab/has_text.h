// What is looked for in the text of a screen.
#pragma once

#include <string>
#include <string_view>

namespace anymps::lab {

inline bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace anymps::lab
