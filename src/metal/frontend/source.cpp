#include "metal/frontend/source.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ExternalASTSource.h>
#include <clang/Basic/Version.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <clang/Parse/Parser.h>
#include <clang/Sema/EnterExpressionEvaluationContext.h>
#include <clang/Sema/Sema.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/InMemoryModuleCache.h>
#include <clang/Serialization/PCHContainerOperations.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <functional>
#include <memory>
#include <optional>

#include "gpu/code_version.h"
#include "gpu/compile_cache.h"
#include "metal/frontend/air_target.h"
#include "metal/frontend/conditionals.h"
#include "metal/frontend/conform.h"
#include "metal/frontend/contract.h"
#include "metal/frontend/entries.h"
#include "metal/frontend/files.h"
#include "metal/frontend/gate.h"
#include "metal/frontend/kernels.h"
#include "metal/frontend/large_stack.h"
#include "metal/frontend/limits.h"
#include "metal/frontend/messages.h"
#include "metal/frontend/pragmas.h"
#include "metal/frontend/private_member.h"
#include "metal/frontend/refusals.h"
#include "metal/frontend/refused_words.h"
#include "metal/frontend/words.h"

namespace anymps::metal::frontend {

struct DeferredMember {
  using Member = llvm::SmallSetVector<clang::Decl*, 4> clang::Sema::*;
  friend constexpr Member revealed(DeferredMember tag);
};
template struct Reveal<DeferredMember, &clang::Sema::DeclsToCheckForDeferredDiags>;

namespace {

constexpr char kPrecompiled[] = "/metal/precompiled";

enum class Conditionals { kAsWritten, kByValue };

// What the parser is given: every token of the file, in Clang's words. False where the parser need not begin.
bool enter_translated(clang::Preprocessor& preprocessor, Conditionals conditionals, std::vector<clang::Token>& kept) {
  std::vector<clang::Token> tokens;
  do {
    preprocessor.Lex(tokens.emplace_back());
  } while (tokens.back().isNot(clang::tok::eof) && tokens.size() <= kMostTokens);
  clang::DiagnosticsEngine& diagnostics = preprocessor.getDiagnostics();
  if (tokens.size() > kMostTokens) {
    diagnostics.Report(tokens.back().getLocation(),
                       diagnostics.getCustomDiagID(clang::DiagnosticsEngine::Fatal,
                                                   "the program has more than %0 tokens once its macros are expanded"))
        << static_cast<unsigned>(kMostTokens);
    return false;
  }
  if (!check_nesting(preprocessor, tokens)) return false;
  const unsigned errors = diagnostics.getNumErrors();
  refuse_words(preprocessor, tokens);
  if (diagnostics.hasFatalErrorOccurred() || diagnostics.getNumErrors() != errors) return false;
  kept = translate_words(preprocessor, tokens);
  if (conditionals == Conditionals::kByValue) kept = choose_by_value(preprocessor, kept);
  // As if they were new, so that what watches them sees them.
  preprocessor.EnterTokenStream(kept, /*DisableMacroExpansion=*/true, /*IsReinject=*/false);
  return true;
}

// As clang::ParseAST does, but for the tokens.
void parse(clang::CompilerInstance& compiler, Conditionals conditionals) {
  if (!compiler.hasSema()) compiler.createSema(clang::TU_Complete, nullptr);
  clang::Sema& sema = compiler.getSema();
  clang::Preprocessor& preprocessor = sema.getPreprocessor();
  add_pragmas(preprocessor);
  watch_preprocessor(preprocessor);
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
  watch_parser(sema);
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

class CodeAction final : public clang::ASTFrontendAction {
 public:
  CodeAction(llvm::LLVMContext& context, const ModuleVersion& version, Conditionals conditionals)
      : context_(context), version_(version), conditionals_(conditionals) {}

  std::unique_ptr<llvm::Module> module;
  std::vector<std::string> kernels;

 private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    generator_ = clang::CreateLLVMCodeGen(compiler.getDiagnostics(), file, &compiler.getVirtualFileSystem(),
                                          compiler.getHeaderSearchOpts(), compiler.getPreprocessorOpts(),
                                          compiler.getCodeGenOpts(), context_);
    return std::make_unique<Gate>(std::unique_ptr<clang::ASTConsumer>(generator_), [this](clang::ASTContext& context) {
      if (!context.getDiagnostics().hasErrorOccurred()) calls_ = refuse_declarations(context);
      return !context.getDiagnostics().hasErrorOccurred();
    });
  }

  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    parse(compiler, conditionals_);
    clang::ASTContext& context = compiler.getASTContext();
    if (compiler.getDiagnostics().hasErrorOccurred() || generator_->GetModule() == nullptr) return;
    llvm::Module& made = *generator_->GetModule();
    const Declarations declarations = read_declarations(*generator_, context, made);
    refuse_calls(*generator_, context, made, calls_);
    if (compiler.getDiagnostics().hasErrorOccurred()) return;
    if (!version_.fast_math) contract_vectors(*generator_);
    module.reset(generator_->ReleaseModule());
    conform(*module);
    add_entries(*module, declarations, version_);
    for (const KernelDeclaration& kernel : declarations.kernels) {
      kernels.insert(kernels.end(), kernel.names.begin(), kernel.names.end());
    }
  }

  llvm::LLVMContext& context_;
  const ModuleVersion version_;
  const Conditionals conditionals_;
  clang::CodeGenerator* generator_ = nullptr;  // the instance owns it
  Calls calls_;
};

class PrecompileAction final : public clang::ASTFrontendAction {
 public:
  std::shared_ptr<clang::PCHBuffer> buffer = std::make_shared<clang::PCHBuffer>();

 private:
  clang::TranslationUnitKind getTranslationUnitKind() override { return clang::TU_Prefix; }
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef /*file*/) override {
    return std::make_unique<clang::PCHGenerator>(compiler.getPreprocessor(), compiler.getModuleCache(), kPrecompiled,
                                                 "", buffer, compiler.getFrontendOpts().ModuleFileExtensions,
                                                 /*AllowASTWithErrors=*/false, /*IncludeTimestamps=*/false);
  }
  void ExecuteAction() override {
    if (!getCompilerInstance().hasSema()) getCompilerInstance().createSema(clang::TU_Prefix, nullptr);
    parse(getCompilerInstance(), Conditionals::kAsWritten);
  }
};

std::vector<std::string> arguments_for(const SourceOptions& options) {
  std::vector<std::string> arguments = {
      "-triple", kTriple, "-emit-llvm-only", "-x", "c++", "-std=gnu++17",
      // See air_target.cpp.
      "-fsycl-is-device",
      // Unoptimised, but such that it can be optimised.
      "-O2", "-disable-llvm-passes", "-fdeclspec", "-ffreestanding", "-fno-rtti", "-fno-threadsafe-statics",
      "-fconvergent-functions", "-fpch-instantiate-templates", "-nostdsysteminc", "-nobuiltininc", "-internal-isystem",
      kHeaderFolder, "-ferror-limit", "20",
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

// A compiler that is ready to execute an action.
class Instance {
 public:
  Instance(llvm::StringRef source, const SourceOptions& options, const std::vector<ExtraFile>& files, bool precompiled)
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
    set_air_target(compiler_, options.version, options.fast_math);
    compiler_.createFileManager(files_for(options.folders, files));
    compiler_.createSourceManager(compiler_.getFileManager());
    input_ = clang::FrontendInputFile(source_->getMemBufferRef(), clang::InputKind(clang::Language::CXX));
  }

  // Throws CompileError.
  void execute(clang::FrontendAction& action) {
    if (action.BeginSourceFile(compiler_, input_)) {
      const bool failed = llvm::errorToBool(action.Execute());
      action.EndSourceFile();
      if (!failed && !compiler_.getDiagnostics().hasErrorOccurred()) return;
    }
    throw CompileError(messages_.take());
  }
  bool choice_refused() const { return messages_.choice_refused(); }
  std::string take_messages() { return messages_.take(); }

 private:
  std::unique_ptr<llvm::MemoryBuffer> source_;
  Messages messages_;
  clang::CompilerInstance compiler_;
  clang::FrontendInputFile input_;
};

// What every program begins with, parsed before.
gpu::Blob precompiled_headers(const SourceOptions& options) {
  const std::string how = std::to_string(options.version) + (options.fast_math ? " fast " : " ") + hash_of_headers();
  static const std::string version = gpu::version_of_code(reinterpret_cast<const void*>(&precompiled_headers));
  const gpu::CacheKey key({.kind = "metal-headers",
                           .input = {},
                           .options = how,
                           .target = clang::getClangFullVersion(),
                           .version = version});
  return gpu::compile_cache().get_or_make(key, [&] {
    SourceOptions prelude;
    prelude.name = "metal_prelude";
    prelude.version = options.version;
    prelude.fast_math = options.fast_math;
    Instance instance("#include <metal_stdlib>\n", prelude, {}, false);
    PrecompileAction action;
    try {
      instance.execute(action);
    } catch (const CompileError& error) {
      throw std::logic_error(std::string("Metal's own headers do not compile: ") + error.what());
    }
    return gpu::Blob::copy_of(std::as_bytes(std::span(action.buffer->Data.data(), action.buffer->Data.size())));
  });
}

// Where Clang refused to choose between two objects, which it may not when they are taken by value.
struct ChoiceRefused : CompileError {
  using CompileError::CompileError;
};

CompiledSource compile_with(llvm::StringRef source, const SourceOptions& options, Conditionals conditionals) {
  const gpu::Blob headers = precompiled_headers(options);
  const llvm::StringRef bytes(reinterpret_cast<const char*>(headers.bytes().data()), headers.bytes().size());
  llvm::LLVMContext context;
  Instance instance(source, options, {{kPrecompiled, bytes}}, true);
  CodeAction action(context, {.metal = options.version, .fast_math = options.fast_math}, conditionals);
  try {
    instance.execute(action);
  } catch (const CompileError& error) {
    if (instance.choice_refused()) throw ChoiceRefused(error.what());
    throw;
  }
  CompiledSource compiled;
  compiled.kernels = std::move(action.kernels);
  compiled.warnings = instance.take_messages();
  std::string out;
  llvm::raw_string_ostream stream(out);
  if (llvm::verifyModule(*action.module, &stream)) {
    throw std::logic_error("the compiler made a module that is not valid: " + out);
  }
  llvm::WriteBitcodeToFile(*action.module, stream);
  stream.flush();
  const auto* begin = reinterpret_cast<const std::byte*>(out.data());
  compiled.module.assign(begin, begin + out.size());
  return compiled;
}

CompiledSource compile_here(llvm::StringRef source, const SourceOptions& options) {
  std::optional<ChoiceRefused> refused;
  try {
    return compile_with(source, options, Conditionals::kAsWritten);
  } catch (const ChoiceRefused& error) {
    refused = error;
  }
  try {
    return compile_with(source, options, Conditionals::kByValue);
  } catch (const ChoiceRefused&) {
    throw CompileError(refused->what());  // said of what was written
  }
}

}  // namespace

CompiledSource compile_source(std::string_view source, const SourceOptions& options) {
  if (const std::string refused = refused_text(source); !refused.empty()) {
    throw CompileError(options.name + refused + "\n");
  }
  CompiledSource compiled;
  on_large_stack([&] { compiled = compile_here({source.data(), source.size()}, options); });
  return compiled;
}

}  // namespace anymps::metal::frontend
