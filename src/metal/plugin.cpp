#include "metal/plugin.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "gpu/executor.h"
#include "metal/capture/writer.h"
#include "metal/frontend/program.h"
#include "metal/library/metallib_writer.h"
#include "metal/runtime/reports.h"
#include "metal/select/engine_selection.h"
#include "metal/select/pipeline_cache.h"
#include "metal/tool/function_signature.h"

namespace anymps::metal {
namespace {

class LibraryOfBytes final : public pipeline::LoadedLibrary {
 public:
  explicit LibraryOfBytes(std::span<const std::byte> bytes)
      : library_(std::make_shared<library::Metallib>(library::Metallib::from_bytes({bytes.begin(), bytes.end()}))),
        pipelines_(names_of(*library_), [library = library_](const std::string& kernel, select::Engine engine) {
          return engine(*library->find(kernel), {});
        }) {}

  std::vector<std::string> kernels() const override { return names_of(*library_); }
  bool has(const std::string& kernel) const override { return is_kernel(library_->find(kernel)); }
  std::shared_ptr<pipeline::Pipeline> pipeline(const std::string& kernel) override { return pipelines_.get(kernel); }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    const library::FunctionEntry* function = library_->find(kernel);
    if (function == nullptr) throw std::invalid_argument("there is no kernel " + kernel);
    return library::write_metallib(std::span(function, 1));
  }
  std::string_view source() const override { return {}; }

 private:
  static bool is_kernel(const library::FunctionEntry* function) {
    return function != nullptr && function->type == library::FunctionType::kKernel;
  }
  static std::vector<std::string> names_of(const library::Metallib& library) {
    std::vector<std::string> names;
    for (const library::FunctionEntry& function : library.functions()) {
      if (is_kernel(&function)) names.push_back(function.name);
    }
    return names;
  }

  const std::shared_ptr<const library::Metallib> library_;
  select::PipelineCache pipelines_;
};

class LibraryOfSource final : public pipeline::LoadedLibrary {
 public:
  LibraryOfSource(std::string_view source, const frontend::SourceOptions& options)
      : program_(std::make_shared<frontend::Program>(source, options)),
        pipelines_(program_->kernels(), [program = program_](const std::string& kernel, select::Engine engine) {
          const std::vector<std::byte> air = program->air_of(kernel);
          library::FunctionEntry function;
          function.name = kernel;
          function.bitcode = air;
          return engine(function, {});
        }) {}

  std::vector<std::string> kernels() const override { return program_->kernels(); }
  bool has(const std::string& kernel) const override {
    return std::ranges::find(program_->kernels(), kernel) != program_->kernels().end();
  }
  std::shared_ptr<pipeline::Pipeline> pipeline(const std::string& kernel) override { return pipelines_.get(kernel); }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    const std::vector<std::byte> air = program_->air_of(kernel);
    const library::FunctionEntry function = tool::entry_of(kernel, air);
    return library::write_metallib(std::span(&function, 1));
  }
  std::string_view source() const override { return program_->source(); }

 private:
  const std::shared_ptr<const frontend::Program> program_;
  select::PipelineCache pipelines_;
};

class MetalPlugin final : public Plugin {
 public:
  std::unique_ptr<pipeline::LoadedLibrary> load(std::span<const std::byte> bytes) override {
    return std::make_unique<LibraryOfBytes>(bytes);
  }
  std::unique_ptr<pipeline::LoadedLibrary> compile(std::string_view source,
                                                   const frontend::SourceOptions& options) override {
    return std::make_unique<LibraryOfSource>(source, options);
  }
  void set_executor(gpu::Executor* executor) override { gpu::set_executor(executor); }
  std::vector<pipeline::ValidationReport> take_validation_reports() override { return runtime::take_published(); }
  std::unique_ptr<capture::Capture> capture(const std::string& folder, const capture::CaptureFacts& facts) override {
    return capture::write_capture(folder, facts);
  }
};

}  // namespace
}  // namespace anymps::metal

extern "C" __attribute__((visibility("default"))) anymps::metal::Plugin* anymps_metal_plugin(unsigned version) {
  static auto* const plugin = new anymps::metal::MetalPlugin;
  return version == anymps::metal::kPluginVersion ? plugin : nullptr;
}
