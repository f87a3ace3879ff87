#include "metal/frontend/lex/reserved_keywords.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>

#include <cstddef>

namespace anymps::metal::frontend::lex {
namespace {

namespace tok = clang::tok;

bool is_refused(const std::vector<clang::Token>& tokens, std::size_t at) {
  const clang::Token& token = tokens[at];
  switch (token.getKind()) {
    case tok::kw_goto:
    case tok::kw_try:
    case tok::kw_throw:
    case tok::kw_dynamic_cast:
    case tok::kw_typeid:
    case tok::kw_thread_local:
    case tok::kw___thread:
    case tok::kw__Thread_local:
    case tok::kw_virtual:
    // Of no use to a kernel, and a few of them keep the compiler busy for years.
    case tok::kw__BitInt:
    case tok::kw__ExtInt:
      return true;
    case tok::kw_new:
    case tok::kw_delete:
      return at == 0 || tokens[at - 1].isNot(tok::equal) || token.is(tok::kw_new);  // `= delete` is fine
    case tok::identifier:
      return token.getIdentifierInfo()->isStr("__make_integer_seq");
    default:
      return false;
  }
}

}  // namespace

void refuse_words(clang::Preprocessor& preprocessor, const std::vector<clang::Token>& tokens) {
  clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
  const clang::SourceManager& sources = preprocessor.getSourceManager();
  const unsigned no_word =
      diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Error, "'%0' is not supported in Metal");
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    const clang::SourceLocation where = tokens[at].getLocation();
    if (is_refused(tokens, at) && !sources.isInSystemHeader(where)) {
      diagnostics.Report(where, no_word) << preprocessor.getSpelling(tokens[at]);
    }
  }
}

}  // namespace anymps::metal::frontend::lex
