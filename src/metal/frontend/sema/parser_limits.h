// The limits of support/limits.h while a program is parsed.
#pragma once

#include <vector>

namespace clang {
class Preprocessor;
class Sema;
class Token;
}  // namespace clang

namespace anymps::metal::frontend::sema {

// Refuses what nests deeper than the parser can follow. False where there is such.
bool check_nesting(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

// While declarations are parsed and templates are instantiated: beyond the limits a fatal error ends it.
void watch_parser(clang::Sema& sema);

}  // namespace anymps::metal::frontend::sema
