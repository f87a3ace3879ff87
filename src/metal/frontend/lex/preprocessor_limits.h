// The limits of support/limits.h while files are read and macros expanded.
#pragma once

namespace clang {
class Preprocessor;
}

namespace anymps::metal::frontend::lex {

void watch_preprocessor(clang::Preprocessor& preprocessor);

}  // namespace anymps::metal::frontend::lex
