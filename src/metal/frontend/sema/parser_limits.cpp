#include "metal/frontend/sema/parser_limits.h"

#include <clang/AST/ASTContext.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/Token.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/TemplateInstCallback.h>

#include <ctime>
#include <memory>

#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend::sema {
namespace {

// True where the program is over a limit, which is then reported, or where something else has ended it.
bool is_over(clang::Sema& sema, clang::SourceLocation where) {
  clang::DiagnosticsEngine& diagnostics = sema.getDiagnostics();
  if (diagnostics.hasFatalErrorOccurred()) return true;
  if (sema.getASTContext().getASTAllocatedMemory() > support::kMostTreeBytes) {
    diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                          "the program needs more memory to compile than %0 GiB"))
        << static_cast<unsigned>(support::kMostTreeBytes >> 30U);
    return true;
  }
  if (support::seconds_used() > support::kMostSeconds) {
    diagnostics.Report(where, diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                          "the program takes longer to compile than %0 seconds"))
        << static_cast<unsigned>(support::kMostSeconds);
    return true;
  }
  return false;
}

// A few lines of templates can ask for everything. No further instantiation begins behind a fatal error.
class Instantiations final : public clang::TemplateInstantiationCallback {
 public:
  void initialize(const clang::Sema& /*sema*/) override {}
  void finalize(const clang::Sema& /*sema*/) override {}
  void atTemplateBegin(const clang::Sema& sema, const clang::Sema::CodeSynthesisContext& context) override {
    if (++count_ % 256 == 0) is_over(const_cast<clang::Sema&>(sema), context.PointOfInstantiation);
  }
  void atTemplateEnd(const clang::Sema& /*sema*/, const clang::Sema::CodeSynthesisContext& /*context*/) override {}

 private:
  std::size_t count_ = 0;
};

}  // namespace

void watch_parser(clang::Sema& sema) {
  sema.TemplateInstCallbacks.push_back(std::make_unique<Instantiations>());
  sema.getPreprocessor().setTokenWatcher(
      [&sema, count = std::size_t{0}, over = false](const clang::Token& token) mutable {
        over = over || (++count % 64 == 0 && is_over(sema, token.getLocation()));
        // The parser ends where the file does.
        if (over) const_cast<clang::Token&>(token).setKind(clang::tok::eof);
      });
}

}  // namespace anymps::metal::frontend::sema
