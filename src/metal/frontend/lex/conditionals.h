// Clang does not choose between objects of a class that lie in different address spaces: in `c ? a : b` it wants the
// qualifiers of one to include the other's. Said as `c ? metal::__operand = a : metal::__operand = b` they are taken by
// value, and all else is what it was (stdlib/metal_types). An assignment binds as loosely as the operands of a
// conditional, so that nothing has to be known of where they end.
#pragma once

#include <vector>

namespace clang {
class Preprocessor;
class Token;
}  // namespace clang

namespace anymps::metal::frontend::lex {

// It costs a call for each operand and makes messages harder to read: for programs that Clang refuses without.
std::vector<clang::Token> choose_by_value(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens);

}  // namespace anymps::metal::frontend::lex
