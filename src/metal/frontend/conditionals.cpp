#include "metal/frontend/conditionals.h"

#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>

#include <cstddef>

namespace anymps::metal::frontend {
namespace {

using clang::Token;
namespace tok = clang::tok;

Token make(clang::SourceLocation where, tok::TokenKind kind, clang::IdentifierInfo* name = nullptr) {
  Token token;
  token.startToken();
  token.setKind(kind);
  token.setLocation(where);
  if (name != nullptr) {
    token.setIdentifierInfo(name);
    token.setLength(static_cast<unsigned>(name->getLength()));
  }
  return token;
}

// What an operand begins with that is no object: a literal, which may have to stay one, as a null pointer has.
bool begins_value(const Token& token) {
  return tok::isLiteral(token.getKind()) || token.isOneOf(tok::kw_nullptr, tok::kw_true, tok::kw_false, tok::l_brace);
}

}  // namespace

std::vector<Token> choose_by_value(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens) {
  clang::IdentifierInfo* metal = preprocessor.getIdentifierInfo("metal");
  clang::IdentifierInfo* operand = preprocessor.getIdentifierInfo("__operand");
  std::vector<Token> out;
  out.reserve(tokens.size() + tokens.size() / 8);
  std::vector<std::size_t> open = {0};  // of each bracket that is open: the conditionals whose `:` is to come
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    out.push_back(token);
    if (token.isOneOf(tok::l_paren, tok::l_square, tok::l_brace)) open.push_back(0);
    if (token.isOneOf(tok::r_paren, tok::r_square, tok::r_brace) && open.size() > 1) open.pop_back();
    if (token.is(tok::semi)) open.back() = 0;
    const bool ends_condition = token.is(tok::question);
    const bool ends_first = token.is(tok::colon) && open.back() > 0;
    if (ends_condition) ++open.back();
    if (ends_first) --open.back();
    if ((!ends_condition && !ends_first) || begins_value(tokens[i + 1]) || tokens[i + 1].is(tok::colon)) continue;
    const clang::SourceLocation where = tokens[i + 1].getLocation();
    out.push_back(make(where, tok::coloncolon));
    out.push_back(make(where, tok::identifier, metal));
    out.push_back(make(where, tok::coloncolon));
    out.push_back(make(where, tok::identifier, operand));
    out.push_back(make(where, tok::equal));
  }
  return out;
}

}  // namespace anymps::metal::frontend
