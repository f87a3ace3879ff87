// Texts inside HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace anymps::lab::html {

// For an element or a quoted attribute. Bytes that are no UTF-8, and characters that XML cannot have, are replaced:
// paths and marks may hold anything.
std::string escaped(std::string_view text);

}  // namespace anymps::lab::html
