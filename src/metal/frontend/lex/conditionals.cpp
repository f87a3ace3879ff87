#include "metal/frontend/lex/conditionals.h"

#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>

#include <cstddef>

#include "metal/frontend/lex/tokens.h"

namespace anymps::metal::frontend::lex {
namespace {

using clang::Token;
namespace tok = clang::tok;

// What an operand begins with that is no object: a literal, which may have to stay one, as a null pointer has.
bool begins_value(const Token& token) {
  return tok::isLiteral(token.getKind()) || token.isOneOf(tok::kw_nullptr, tok::kw_true, tok::kw_false, tok::l_brace);
}

}  // namespace

std::vector<Token> choose_by_value(clang::Preprocessor& preprocessor, const std::vector<Token>& tokens) {
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
    append_name_in_metal(preprocessor, "__operand", where, out);
    out.push_back(make_token(tok::equal, where));
  }
  return out;
}

}  // namespace anymps::metal::frontend::lex
