#include "metal/frontend/support/diagnostics.h"

#include <clang/Basic/DiagnosticSema.h>
#include <clang/Basic/LangOptions.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/TextDiagnostic.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/raw_ostream.h>

#include <array>
#include <utility>

namespace anymps::metal::frontend::support {
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
    Replacement{"'annotate' attribute requires parameter 1 to be", "the argument of the attribute has to be"},
    Replacement{"'__air_", "'"},
    Replacement{"SYCL device code", "Metal"},
    Replacement{"opencl_global_device", "constant"},
    Replacement{"opencl_global", "device"},
    Replacement{"opencl_local", "threadgroup"},
    Replacement{"_Float16", "half"},
    Replacement{"__bf16", "bfloat"},
};

void replace_all(std::string& text, llvm::StringRef from, llvm::StringRef to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// 'half' (aka 'half')
void drop_repeated_names(std::string& text) {
  constexpr llvm::StringLiteral kAka = "' (aka '";
  for (std::size_t at = text.find(kAka); at != std::string::npos; at = text.find(kAka, at + 1)) {
    const std::size_t begin = text.rfind('\'', at - 1);
    if (begin == std::string::npos) continue;
    const std::string again = text.substr(begin + 1, at - begin - 1) + "')";
    if (text.compare(at + kAka.size(), again.size(), again) == 0) text.erase(at + 1, kAka.size() - 1 + again.size());
  }
}

// The setters of a vector's components are properties' (stdlib/__metal_swizzles).
void describe_setters(std::string& text) {
  if (text.find("'__set_") != std::string::npos) text = "vector is not assignable (contains duplicate components)";
  if (text.find("cannot find suitable setter for property") == 0) text.clear();
}

}  // namespace

std::string in_words_of_metal(std::string message) {
  for (const Replacement& replacement : kReplacements) {
    replace_all(message, replacement.clangs, replacement.metals);
  }
  drop_repeated_names(message);
  describe_setters(message);
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
  choice_refused_ = choice_refused_ || info.getID() == clang::diag::err_typecheck_cond_incompatible_operands;
  llvm::SmallString<128> text;
  info.FormatDiagnostic(text);
  const std::string message = in_words_of_metal(std::string(text));
  if (!info.getLocation().isValid() || !info.hasSourceManager()) {
    return write(level, {}, message, {}, {});
  }
  const clang::SourceManager& sources = info.getSourceManager();
  const clang::FullSourceLoc where(info.getLocation(), sources);
  const bool ours = sources.isInSystemHeader(sources.getExpansionLoc(where));
  const bool is_note = level == clang::DiagnosticsEngine::Note;
  if (!is_note) was_found_ = false;
  if (found_) {
    if (is_note && ours) return;
    if (is_note) return write_found(where);
    write_found(found_->where);
  }
  if (was_found_ && ours) return;
  if (ours && !is_note) {
    found_ = Found{level, where, message};
  } else if (ours) {
    write(level, where.getExpansionLoc(), message, {}, {});
  } else {
    write(level, where, message, info.getRanges(), info.getFixItHints());
  }
}

void Messages::write(clang::DiagnosticsEngine::Level level, clang::FullSourceLoc where, const std::string& message,
                     llvm::ArrayRef<clang::CharSourceRange> ranges, llvm::ArrayRef<clang::FixItHint> hints) {
  // Clang says some things of a property twice.
  std::string said = message + std::to_string(where.getRawEncoding());
  if (message.empty() || said == last_) return;
  last_ = std::move(said);
  llvm::raw_string_ostream stream(text_);
  if (where.isInvalid()) {
    clang::TextDiagnostic::printDiagnosticLevel(stream, level, /*ShowColors=*/false);
    stream << message << '\n';
    return;
  }
  clang::TextDiagnostic renderer(stream, language_, options_.get());
  renderer.emitDiagnostic(where, level, message, ranges, hints);
}

void Messages::write_found(clang::FullSourceLoc where) {
  const Found found = *std::exchange(found_, std::nullopt);
  was_found_ = true;
  write(found.level, where, found.message, {}, {});
}

std::string Messages::take() {
  if (found_) write_found(found_->where);
  return std::move(text_);
}

}  // namespace anymps::metal::frontend::support
