#include "metal/frontend/compiler_instance.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ExternalASTSource.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Parse/Parser.h>
#include <clang/Sema/EnterExpressionEvaluationContext.h>
#include <clang/Sema/Sema.h>

#include <stdexcept>
#include <utility>

#include "metal/frontend/emit/air_target.h"
#include "metal/frontend/lex/conditionals.h"
#include "metal/frontend/lex/pragmas.h"
#include "metal/frontend/lex/preprocessor_limits.h"
#include "metal/frontend/lex/reserved_keywords.h"
#include "metal/frontend/lex/token_rewriter.h"
#include "metal/frontend/sema/parser_limits.h"
#include "metal/frontend/support/limits.h"
#include "metal/frontend/support/private_member.h"

namespace anymps::metal::frontend {

struct DeferredMember : support::PrivateMember<DeferredMember, llvm::SmallSetVector<clang::Decl*, 4> clang::Sema::*> {};
template struct support::Reveal<DeferredMember, &clang::Sema::DeclsToCheckForDeferredDiags>;

namespace {

// What the parser is given: every token of the file, in Clang's words. False where the parser need not begin.
bool enter_translated(clang::Preprocessor& preprocessor, Conditionals conditionals, std::vector<clang::Token>& kept) {
  std::vector<clang::Token> tokens;
  do {
    preprocessor.Lex(tokens.emplace_back());
  } while (tokens.back().isNot(clang::tok::eof) && tokens.size() <= support::kMostTokens);
  clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
  if (tokens.size() > support::kMostTokens) {
    diagnostics.Report(tokens.back().getLocation(),
                       diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                   "the program has more than %0 tokens once its macros are expanded"))
        << static_cast<unsigned>(support::kMostTokens);
    return false;
  }
  if (!sema::check_nesting(preprocessor, tokens)) return false;
  const unsigned errors = diagnostics.getNumErrors();
  lex::refuse_words(preprocessor, tokens);
  if (diagnostics.hasFatalErrorOccurred() || diagnostics.getNumErrors() != errors) return false;
  kept = lex::translate_words(preprocessor, tokens);
  if (conditionals == Conditionals::kByValue) kept = lex::choose_by_value(preprocessor, kept);
  // As if they were new, so that what watches them sees them.
  preprocessor.EnterTokenStream(kept, /*DisableMacroExpansion=*/true, /*IsReinject=*/false);
  return true;
}

std::vector<std::string> arguments_for(const SourceOptions& options) {
  std::vector<std::string> arguments = {
      "-triple", emit::kTriple, "-emit-llvm-only", "-x", "c++", "-std=gnu++17",
      // See air_target.cpp.
      "-fsycl-is-device",
      // Unoptimised, but such that it can be optimised.
      "-O2", "-disable-llvm-passes", "-fdeclspec", "-ffreestanding", "-fno-rtti", "-fno-threadsafe-statics",
      "-fconvergent-functions", "-fpch-instantiate-templates", "-nostdsysteminc", "-nobuiltininc", "-internal-isystem",
      lex::kHeaderFolder, "-ferror-limit", "20",
      // Lines, which the sanitiser says.
      "-debug-info-kind=line-tables-only", "-dwarf-version=4",
      // What our words become: `constant const`, `static` in a header, and the like.
      "-Wno-duplicate-decl-specifier", "-Wno-unused-function", "-Wno-invalid-constexpr", "-Wno-undefined-internal",
      "-Wno-undefined-inline", "-Wno-nan-infinity-disabled", "-Wno-pragma-once-outside-header", "-Wno-c++11-narrowing",
      "-Wno-main"};
  if (options.fast_math) {
    for (const char* flag : {"-menable-no-infs", "-menable-no-nans", "-fapprox-func", "-fno-signed-zeros",
                             "-mreassociate", "-freciprocal-math", "-ffp-contract=fast"}) {
      arguments.emplace_back(flag);
    }
  } else {
    arguments.emplace_back("-ffp-contract=on");
  }
  return arguments;
}

}  // namespace

void parse(clang::CompilerInstance& compiler, Conditionals conditionals) {
  if (!compiler.hasSema()) compiler.createSema(clang::TU_Complete, nullptr);
  clang::Sema& sema = compiler.getSema();
  clang::Preprocessor& preprocessor = sema.getPreprocessor();
  lex::add_pragmas(preprocessor);
  lex::watch_preprocessor(preprocessor);
  clang::Parser parser(preprocessor, sema, /*SkipFunctionBodies=*/false);
  preprocessor.EnterMainSourceFile();
  // It crashes in a source in memory, as #embed does (source_text.cpp).
  preprocessor.getIdentifierInfo("__has_embed")->setHasMacroDefinition(false);
  clang::ASTConsumer& consumer = sema.getASTConsumer();
  if (clang::ExternalASTSource* external = sema.getASTContext().getExternalSource()) {
    external->StartTranslationUnit(&consumer);
  }
  std::vector<clang::Token> tokens;
  if (!enter_translated(preprocessor, conditionals, tokens)) return;
  sema::watch_parser(sema);
  parser.Initialize();
  clang::Parser::DeclGroupPtrTy group;
  clang::Sema::ModuleImportState imports{};
  const clang::EnterExpressionEvaluationContext evaluated(
      sema, clang::Sema::ExpressionEvaluationContext::PotentiallyEvaluated);
  for (bool at_end = parser.ParseFirstTopLevelDecl(group, imports); !at_end;
       at_end = parser.ParseTopLevelDecl(group, imports)) {
    if (group && !consumer.HandleTopLevelDecl(group.get())) return;
  }
  // Functions whose errors are put off until it is known that the device needs them. There are none in our headers, and
  // Clang 19 crashes when it reads such a list from a precompiled one.
  (sema.*revealed(DeferredMember{})).clear();
  consumer.HandleTranslationUnit(sema.getASTContext());
}

Instance::Instance(llvm::StringRef source, const SourceOptions& options, const std::vector<lex::ExtraFile>& files,
                   bool precompiled)
    : source_(llvm::MemoryBuffer::getMemBufferCopy(source, options.name)) {
  std::vector<std::string> texts = arguments_for(options);
  for (const std::string& folder : options.folders) {
    texts.emplace_back("-I");
    texts.push_back(folder);
  }
  for (const auto& [name, value] : options.defines) texts.push_back("-D" + name + "=" + value);
  if (precompiled) {
    texts.insert(texts.end(), {"-include-pch", kPrecompiled, "-fno-validate-pch"});
  }
  std::vector<const char*> arguments;
  for (const std::string& text : texts) arguments.push_back(text.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  clang::DiagnosticsEngine early(new clang::DiagnosticIDs, &messages_.options(), &messages_,
                                 /*ShouldOwnClient=*/false);
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, early)) {
    throw std::logic_error("the compiler's own options are wrong: " + messages_.take());
  }
  compiler_.setInvocation(std::move(invocation));
  // For our headers: methods that know in which address space their object lies, by C++23's `this` parameters. No
  // more of C++20 and C++23 is on, where what is right in C++17 may be wrong.
  compiler_.getLangOpts().CPlusPlus23 = true;
  compiler_.createDiagnostics(&messages_, /*ShouldOwnClient=*/false);
  emit::set_air_target(compiler_, options.version, options.fast_math);
  compiler_.createFileManager(lex::files_for(options.folders, files));
  compiler_.createSourceManager(compiler_.getFileManager());
  input_ = clang::FrontendInputFile(source_->getMemBufferRef(), clang::InputKind(clang::Language::CXX));
}

void Instance::execute(clang::FrontendAction& action) {
  if (action.BeginSourceFile(compiler_, input_)) {
    const bool failed = llvm::errorToBool(action.Execute());
    action.EndSourceFile();
    if (!failed && !compiler_.getDiagnostics().hasErrorOccurred()) return;
  }
  throw CompileError(messages_.take());
}

}  // namespace anymps::metal::frontend
