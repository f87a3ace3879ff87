// Clang's parser, its checks and its code generator recurse over what is nested. It bounds brackets itself; here is
// what nests without them: - - - - x, a = b = c, A<A<A<int>>>, if (a) if (b), else if.
#include <clang/Basic/Diagnostic.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>

#include "metal/frontend/sema/parser_limits.h"
#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend::sema {
namespace {

namespace tok = clang::tok;

class Nesting {
 public:
  // True where the tokens up to this one, which stand behind `previous`, are too much.
  bool is_too_deep(const clang::Token& previous, const clang::Token& token) {
    ++run_;
    switch (token.getKind()) {
      case tok::l_brace:
        scopes_.push_back({.is_list = opens_list(previous)});
        run_ = 0;
        break;
      case tok::r_brace:
        if (scopes_.size() > 1) scopes_.pop_back();
        run_ = 0;
        break;
      case tok::l_paren:
        ++scopes_.back().parentheses;
        break;
      case tok::r_paren:
        if (scopes_.back().parentheses > 0) --scopes_.back().parentheses;
        break;
      case tok::semi:
        if (scopes_.back().parentheses == 0) run_ = 0;
        break;
      case tok::comma:
        if (scopes_.back().is_list && scopes_.back().parentheses == 0) run_ = 0;
        break;
      case tok::kw_else:
        ++scopes_.back().elses;
        break;
      default:
        break;
    }
    return run_ > support::kMostNested || scopes_.back().elses > support::kMostNested;
  }

 private:
  struct Scope {
    bool is_list = false;
    unsigned parentheses = 0;
    std::size_t elses = 0;
  };
  // Of values or enumerators, which are not nested, rather than of statements.
  bool opens_list(const clang::Token& previous) const {
    if (previous.is(tok::l_brace)) return scopes_.back().is_list;
    return !previous.isOneOf(tok::r_paren, tok::semi, tok::r_brace, tok::kw_else, tok::kw_do, tok::kw_const,
                             tok::colon);
  }

  std::size_t run_ = 0;
  std::vector<Scope> scopes_{1};
};

}  // namespace

bool check_nesting(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens) {
  Nesting nesting;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!nesting.is_too_deep(tokens[i == 0 ? 0 : i - 1], tokens[i])) continue;
    clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
    diagnostics.Report(tokens[i].getLocation(),
                       diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                   "an expression, declaration or statement has more than %0 parts"))
        << static_cast<unsigned>(support::kMostNested);
    return false;
  }
  return true;
}

}  // namespace anymps::metal::frontend::sema
