#include "metal/frontend/precompiled.h"

#include <clang/Basic/Version.h>
#include <clang/Serialization/ASTWriter.h>
#include <clang/Serialization/InMemoryModuleCache.h>
#include <clang/Serialization/PCHContainerOperations.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "gpu/cache/compile_cache.h"
#include "gpu/support/code_version.h"
#include "metal/frontend/compiler_instance.h"
#include "metal/frontend/lex/include_files.h"

namespace anymps::metal::frontend {
namespace {

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

struct BuiltIn {
  std::string identity;
  std::span<const std::byte> bytes;
};
// Set while the library is loaded, before anybody asks.
BuiltIn& built_in() {
  static BuiltIn headers;
  return headers;
}

gpu::support::Blob cached_headers(const SourceOptions& options) {
  static const std::string version = gpu::support::version_of_code(reinterpret_cast<const void*>(&cached_headers));
  const std::string identity = identity_of_headers(options);
  const gpu::cache::CacheKey key(
      {.kind = "metal-headers", .input = {}, .options = identity, .target = "air", .version = version});
  return gpu::cache::compile_cache().get_or_make(
      key, [&] { return gpu::support::Blob::copy_of(precompile_headers(options)); });
}

}  // namespace

std::string identity_of_headers(const SourceOptions& options) {
  return std::to_string(options.version) + (options.fast_math ? " fast " : " ") + lex::hash_of_headers() + " " +
         clang::getClangFullVersion();
}

std::vector<std::byte> precompile_headers(const SourceOptions& options) {
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
  const auto* begin = reinterpret_cast<const std::byte*>(action.buffer->Data.data());
  return {begin, begin + action.buffer->Data.size()};
}

void set_built_in_headers(std::string identity, std::span<const std::byte> bytes) {
  built_in() = {std::move(identity), bytes};
}

PrecompiledHeaders::PrecompiledHeaders(const SourceOptions& options) : bytes_(built_in().bytes) {
  if (!bytes_.empty() && built_in().identity == identity_of_headers(options)) return;
  kept_ = cached_headers(options);
  bytes_ = kept_.bytes();
}

}  // namespace anymps::metal::frontend
