// Metal's words as Clang's: a pass over the tokens between preprocessor and parser, after macros, which leaves every
// token where the user wrote it.
//
//   device T*            __attribute__((opencl_global)) T*: an address space (air_target.cpp)
//   threadgroup T x[8];  a static variable of its address space
//   constant T           const, in its address space
//   thread T             T
//   kernel, [[buffer(0)]], [[host_name("f")]]   annotations (annotations.h)
//   1.0, 1.0h, 1.0bf     literals of float, half and bfloat
//
// A method may be qualified by an address space, which Clang has no form for: the qualifier is dropped, and so is a
// method that then says what one before it said.
#pragma once

#include <vector>

namespace clang {
class Preprocessor;
class Token;
}  // namespace clang

namespace anymps::metal::frontend::lex {

// `tokens` ends with that of the end of the file. What cannot be said in Metal is reported to the preprocessor's
// diagnostics.
std::vector<clang::Token> translate_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

}  // namespace anymps::metal::frontend::lex
