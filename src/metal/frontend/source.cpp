#include "metal/frontend/source.h"

#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <functional>
#include <memory>
#include <optional>

#include "metal/frontend/compiler_instance.h"
#include "metal/frontend/emit/kernel_metadata.h"
#include "metal/frontend/emit/metal_semantics.h"
#include "metal/frontend/emit/passes.h"
#include "metal/frontend/lex/source_text.h"
#include "metal/frontend/precompiled.h"
#include "metal/frontend/sema/deferred_consumer.h"
#include "metal/frontend/sema/fp_contract.h"
#include "metal/frontend/sema/kernel_declarations.h"
#include "metal/frontend/sema/refusals.h"
#include "metal/frontend/support/large_stack.h"
#include "metal/frontend/support/limits.h"

namespace anymps::metal::frontend {
namespace {

class CodeAction final : public clang::ASTFrontendAction {
 public:
  CodeAction(llvm::LLVMContext& context, const emit::ModuleVersion& version, Conditionals conditionals)
      : context_(context), version_(version), conditionals_(conditionals) {}

  std::unique_ptr<llvm::Module> module;
  std::vector<std::string> kernels;

 private:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef file) override {
    generator_ = clang::CreateLLVMCodeGen(compiler.getDiagnostics(), file, &compiler.getVirtualFileSystem(),
                                          compiler.getHeaderSearchOpts(), compiler.getPreprocessorOpts(),
                                          compiler.getCodeGenOpts(), context_);
    return std::make_unique<sema::Gate>(std::unique_ptr<clang::ASTConsumer>(generator_),
                                        [this](clang::ASTContext& context) {
                                          if (!context.getDiagnostics().hasErrorOccurred())
                                            calls_ = sema::refuse_declarations(context);
                                          return !context.getDiagnostics().hasErrorOccurred();
                                        });
  }

  void ExecuteAction() override {
    clang::CompilerInstance& compiler = getCompilerInstance();
    parse(compiler, conditionals_);
    clang::ASTContext& context = compiler.getASTContext();
    if (compiler.getDiagnostics().hasErrorOccurred() || generator_->GetModule() == nullptr) return;
    llvm::Module& made = *generator_->GetModule();
    const sema::Declarations declarations = sema::read_declarations(*generator_, context, made);
    sema::refuse_undefined(*generator_, context, made, calls_);
    if (compiler.getDiagnostics().hasErrorOccurred()) return;
    if (!version_.fast_math) sema::contract_vectors(*generator_);
    module.reset(generator_->ReleaseModule());
    emit::conform(*module);
    emit::add_entries(*module, declarations, version_);
    for (const sema::KernelDeclaration& kernel : declarations.kernels) {
      kernels.insert(kernels.end(), kernel.names.begin(), kernel.names.end());
    }
  }

  llvm::LLVMContext& context_;
  const emit::ModuleVersion version_;
  const Conditionals conditionals_;
  clang::CodeGenerator* generator_ = nullptr;  // the instance owns it
  sema::Calls calls_;
};

// Where Clang refused to choose between two objects, which it may not when they are taken by value.
struct ChoiceRefused : CompileError {
  using CompileError::CompileError;
};

CompiledSource compile_with(llvm::StringRef source, const SourceOptions& options, Conditionals conditionals) {
  const PrecompiledHeaders headers(options);
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
  emit::Passes(*action.module).promote(*action.module);
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
  if (const std::string refused = lex::refused_text(source); !refused.empty()) {
    throw CompileError(options.name + refused + "\n");
  }
  CompiledSource compiled;
  support::on_large_stack([&] { compiled = compile_here({source.data(), source.size()}, options); });
  return compiled;
}

}  // namespace anymps::metal::frontend
