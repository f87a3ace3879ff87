// What the compiler says, as Metal's does: "program_source:3:7: error: ...", the line, a caret, and Metal's names for
// types and address spaces.
#pragma once

#include <clang/Basic/Diagnostic.h>
#include <clang/Basic/DiagnosticOptions.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceLocation.h>
#include <llvm/ADT/IntrusiveRefCntPtr.h>

#include <optional>
#include <string>

namespace anymps::metal::frontend::support {

class Messages final : public clang::DiagnosticConsumer {
 public:
  Messages();

  void BeginSourceFile(const clang::LangOptions& options, const clang::Preprocessor* preprocessor) override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) override;

  clang::DiagnosticOptions& options() { return *options_; }
  std::string take();
  // Whether Clang refused to choose between two objects (conditionals.h).
  bool choice_refused() const { return choice_refused_; }

 private:
  // What is found in our headers, which the user has to know nothing of: it is said of the user's line that led there.
  struct Found {
    clang::DiagnosticsEngine::Level level;
    clang::FullSourceLoc where;
    std::string message;
  };

  void write(clang::DiagnosticsEngine::Level level, clang::FullSourceLoc where, const std::string& message,
             llvm::ArrayRef<clang::CharSourceRange> ranges, llvm::ArrayRef<clang::FixItHint> hints);
  void write_found(clang::FullSourceLoc where);

  std::optional<Found> found_;
  bool was_found_ = false;  // what was said last; the notes that follow are of no use then
  std::string last_;        // message, with its place
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options_;
  clang::LangOptions language_;
  std::string text_;
  bool choice_refused_ = false;
};

// Clang's names in a message as Metal's: `__global` is device, `_Float16` is half.
std::string in_words_of_metal(std::string message);

}  // namespace anymps::metal::frontend::support
