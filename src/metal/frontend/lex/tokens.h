// Tokens that nobody wrote, for the passes over a program's tokens.
#pragma once

#include <clang/Lex/Token.h>
#include <llvm/ADT/StringRef.h>

#include <vector>

namespace clang {
class Preprocessor;
}  // namespace clang

namespace anymps::metal::frontend::lex {

clang::Token make_token(clang::tok::TokenKind kind, clang::SourceLocation where);
// A name or a keyword.
clang::Token make_name(clang::Preprocessor& preprocessor, llvm::StringRef name, clang::SourceLocation where);
// ::metal::name
void append_name_in_metal(clang::Preprocessor& preprocessor, llvm::StringRef name, clang::SourceLocation where,
                          std::vector<clang::Token>& tokens);

// By how much a token opens the brackets of templates: 1 for `<`, -2 for `>>`.
int angles_of(const clang::Token& token);

}  // namespace anymps::metal::frontend::lex
