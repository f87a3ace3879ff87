// The text of a source, before it is read as a program.
#pragma once

#include <string>
#include <string_view>

namespace anymps::metal::frontend::lex {

// What is wrong with the text of a source, as a message behind its name; empty where nothing is.
std::string refused_text(std::string_view source);

}  // namespace anymps::metal::frontend::lex
