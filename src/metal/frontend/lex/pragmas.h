// #pragma METAL fp contract(off | on | fast), math_mode(safe | relaxed | fast): as Clang's own pragma. Others of
// METAL's have no meaning here and pass.
#pragma once

namespace clang {
class Preprocessor;
}

namespace anymps::metal::frontend::lex {

void add_pragmas(clang::Preprocessor& preprocessor);

}  // namespace anymps::metal::frontend::lex
