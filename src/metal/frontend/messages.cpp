#include "metal/frontend/messages.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/TextDiagnostic.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <utility>

namespace anymps::metal::frontend {
namespace {

struct Replacement {
  llvm::StringLiteral clangs;
  llvm::StringLiteral metals;
};
// Longer ones first.
constexpr std::array kReplacements = {
    Replacement{"const __global_device ", "constant "},
    Replacement{"__global_device ", "constant "},
    Replacement{"__global ", "device "},
    Replacement{"__local ", "threadgroup "},
    Replacement{"__private ", "thread "},
    Replacement{"'__global_device'", "'constant'"},
    Replacement{"'__global'", "'device'"},
    Replacement{"'__local'", "'threadgroup'"},
    Replacement{" (aka '_Float16')", ""},
    Replacement{" (aka '__bf16')", ""},
    Replacement{"_Float16", "half"},
    Replacement{"__bf16", "bfloat"},
};

void replace_all(std::string& text, llvm::StringRef from, llvm::StringRef to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

std::string in_words_of_metal(std::string message) {
  for (const Replacement& replacement : kReplacements) {
    replace_all(message, replacement.clangs, replacement.metals);
  }
  return message;
}

Messages::Messages() : options_(new clang::DiagnosticOptions) {
  options_->ShowCarets = true;
  options_->ShowColors = false;
  options_->ShowOptionNames = false;
  options_->ShowLineNumbers = false;
}

void Messages::BeginSourceFile(const clang::LangOptions& options, const clang::Preprocessor* /*preprocessor*/) {
  language_ = options;
}

void Messages::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic& info) {
  DiagnosticConsumer::HandleDiagnostic(level, info);  // which counts
  llvm::SmallString<128> message;
  info.FormatDiagnostic(message);
  llvm::raw_string_ostream stream(text_);
  const std::string words = in_words_of_metal(std::string(message));
  if (!info.getLocation().isValid() || !info.hasSourceManager()) {
    clang::TextDiagnostic::printDiagnosticLevel(stream, level, /*ShowColors=*/false);
    stream << words << '\n';
    return;
  }
  clang::TextDiagnostic renderer(stream, language_, options_.get());
  renderer.emitDiagnostic(clang::FullSourceLoc(info.getLocation(), info.getSourceManager()), level, words,
                          info.getRanges(), info.getFixItHints());
}

}  // namespace anymps::metal::frontend
