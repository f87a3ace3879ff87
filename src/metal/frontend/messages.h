// What the compiler says, as Metal's does: "program_source:3:7: error: ...", the line, a caret, and Metal's names for
// types and address spaces.
#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <string>

namespace anymps::metal::frontend {

class Messages final : public clang::DiagnosticConsumer {
 public:
  Messages();

  void BeginSourceFile(const clang::LangOptions& options, const clang::Preprocessor* preprocessor) override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

  clang::DiagnosticOptions& options() { return *options_; }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options_;
  clang::LangOptions language_;
  std::string text_;
};

// Clang's names in a message as Metal's: `__global` is device, `_Float16` is half.
std::string in_words_of_metal(std::string message);

}  // namespace anymps::metal::frontend
