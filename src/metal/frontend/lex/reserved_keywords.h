// Words of C++ that Metal does not have: `goto`, `try`, `new` and the like.
#pragma once

#include <vector>

namespace clang {
class Preprocessor;
class Token;
}  // namespace clang

namespace anymps::metal::frontend::lex {

// Reports each to the preprocessor's diagnostics. Our own headers may use what they like.
void refuse_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

}  // namespace anymps::metal::frontend::lex
