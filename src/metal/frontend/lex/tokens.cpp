#include "metal/frontend/lex/tokens.h"

#include <clang/Lex/Preprocessor.h>

namespace anymps::metal::frontend::lex {

namespace tok = clang::tok;

clang::Token make_token(tok::TokenKind kind, clang::SourceLocation where) {
  clang::Token token;
  token.startToken();
  token.setKind(kind);
  token.setLocation(where);
  return token;
}

clang::Token make_name(clang::Preprocessor& preprocessor, llvm::StringRef name, clang::SourceLocation where) {
  clang::IdentifierInfo& info = *preprocessor.getIdentifierInfo(name);
  clang::Token token = make_token(info.getTokenID(), where);
  token.setIdentifierInfo(&info);
  token.setLength(static_cast<unsigned>(name.size()));
  return token;
}

void append_name_in_metal(clang::Preprocessor& preprocessor, llvm::StringRef name, clang::SourceLocation where,
                          std::vector<clang::Token>& tokens) {
  tokens.push_back(make_token(tok::coloncolon, where));
  tokens.push_back(make_name(preprocessor, "metal", where));
  tokens.push_back(make_token(tok::coloncolon, where));
  tokens.push_back(make_name(preprocessor, name, where));
}

int angles_of(const clang::Token& token) {
  if (token.is(tok::less)) return 1;
  if (token.is(tok::greater)) return -1;
  return token.is(tok::greatergreater) ? -2 : 0;
}

}  // namespace anymps::metal::frontend::lex
