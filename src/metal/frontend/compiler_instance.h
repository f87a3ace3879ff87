// Clang, set up for Metal source.
#pragma once

#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/FrontendOptions.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <string>
#include <vector>

#include "metal/frontend/lex/include_files.h"
#include "metal/frontend/source.h"
#include "metal/frontend/support/diagnostics.h"

namespace anymps::metal::frontend {

// The file that a program's precompiled headers (precompiled.h) seem to be.
inline constexpr char kPrecompiled[] = "/metal/precompiled";

enum class Conditionals { kAsWritten, kByValue };

// As clang::ParseAST does, but for the tokens.
void parse(clang::CompilerInstance& compiler, Conditionals conditionals);

// A compiler that is ready to execute an action.
class Instance {
 public:
  // `precompiled`: one of `files` is kPrecompiled.
  Instance(llvm::StringRef source, const SourceOptions& options, const std::vector<lex::ExtraFile>& files,
           bool precompiled);

  // Throws CompileError.
  void execute(clang::FrontendAction& action);
  bool choice_refused() const { return messages_.choice_refused(); }
  std::string take_messages() { return messages_.take(); }

 private:
  std::unique_ptr<llvm::MemoryBuffer> source_;
  support::Messages messages_;
  clang::CompilerInstance compiler_;
  clang::FrontendInputFile input_;
};

}  // namespace anymps::metal::frontend
