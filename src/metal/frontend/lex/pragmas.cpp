#include "metal/frontend/lex/pragmas.h"

#include <clang/Lex/LexDiagnostic.h>
#include <clang/Lex/Pragma.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/StringSwitch.h>

#include <memory>
#include <string>

namespace anymps::metal::frontend::lex {
namespace {

class FpPragma final : public clang::PragmaHandler {
 public:
  FpPragma() : PragmaHandler("fp") {}

  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer introducer,
                    clang::Token& token) override {
    preprocessor.Lex(token);
    const std::string key = preprocessor.getSpelling(token);
    preprocessor.Lex(token);
    if (token.isNot(clang::tok::l_paren)) return complain(preprocessor, introducer.Loc);
    preprocessor.Lex(token);
    const std::string value = preprocessor.getSpelling(token);
    preprocessor.DiscardUntilEndOfDirective();
    const std::string text = llvm::StringSwitch<std::string>(key + " " + value)
                                 .Case("contract off", "contract(off)")
                                 .Case("contract on", "contract(on)")
                                 .Case("contract fast", "contract(fast)")
                                 .Case("math_mode safe", "reassociate(off) reciprocal(off)")
                                 .Case("math_mode relaxed", "reassociate(on)")
                                 .Case("math_mode fast", "reassociate(on) reciprocal(on)")
                                 .Default("");
    if (text.empty()) return complain(preprocessor, introducer.Loc);
    enter(preprocessor, introducer.Loc, "clang fp " + text);
  }

 private:
  static void complain(clang::Preprocessor& preprocessor, clang::SourceLocation where) {
    clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
    diagnostics.Report(where,
                       diagnostics.getCustomDiagID(
                           clang::DiagnosticsEngine::Warning,
                           "'#pragma METAL fp' takes contract(off | on | fast) or math_mode(safe | relaxed | fast)"));
  }

  // As _Pragma(text) at this place.
  static void enter(clang::Preprocessor& preprocessor, clang::SourceLocation where, const std::string& text) {
    auto tokens = std::make_unique<clang::Token[]>(4);
    for (int i = 0; i < 4; ++i) {
      tokens[i].startToken();
      tokens[i].setLocation(where);
    }
    tokens[0].setKind(clang::tok::identifier);
    tokens[0].setIdentifierInfo(preprocessor.getIdentifierInfo("_Pragma"));
    tokens[1].setKind(clang::tok::l_paren);
    tokens[2].setKind(clang::tok::string_literal);
    preprocessor.CreateString("\"" + text + "\"", tokens[2], where, where);
    tokens[3].setKind(clang::tok::r_paren);
    preprocessor.EnterTokenStream(std::move(tokens), 4, /*DisableMacroExpansion=*/false, /*IsReinject=*/false);
  }
};

class IgnoredPragma final : public clang::PragmaHandler {
 public:
  explicit IgnoredPragma(llvm::StringRef name) : PragmaHandler(name) {}
  void HandlePragma(clang::Preprocessor& preprocessor, clang::PragmaIntroducer /*introducer*/,
                    clang::Token& /*token*/) override {
    preprocessor.DiscardUntilEndOfDirective();
  }
};

}  // namespace

void add_pragmas(clang::Preprocessor& preprocessor) {
  preprocessor.AddPragmaHandler("METAL", new FpPragma);  // the preprocessor owns them
  preprocessor.AddPragmaHandler("METAL", new IgnoredPragma("internals"));
  // Instead of Clang's, which crashes for those who test it.
  preprocessor.AddPragmaHandler("clang", new IgnoredPragma("__debug"));
}

}  // namespace anymps::metal::frontend::lex
