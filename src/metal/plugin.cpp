#include "metal/door.h"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "gpu/executor.h"
#include "metal/capture/writer.h"
#include "metal/engine/kept_pipelines.h"
#include "metal/engine/reports.h"
#include "metal/frontend/program.h"
#include "metal/library/metallib_writer.h"
#include "metal/tool/function_signature.h"

namespace anymps::metal {
namespace {

class LibraryOfBytes final : public LoadedLibrary {
 public:
  explicit LibraryOfBytes(std::span<const std::byte> bytes)
      : library_(std::make_shared<Metallib>(Metallib::from_bytes({bytes.begin(), bytes.end()}))),
        pipelines_(names_of(*library_), [library = library_](const std::string& kernel, Engine engine) {
          return engine(*library->find(kernel), {});
        }) {}

  std::vector<std::string> kernels() const override { return names_of(*library_); }
  bool has(const std::string& kernel) const override { return is_kernel(library_->find(kernel)); }
  std::shared_ptr<Pipeline> pipeline(const std::string& kernel) override { return pipelines_.get(kernel); }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    const FunctionEntry* function = library_->find(kernel);
    if (function == nullptr) throw std::invalid_argument("there is no kernel " + kernel);
    return write_metallib(std::span(function, 1));
  }
  std::string_view source() const override { return {}; }

 private:
  static bool is_kernel(const FunctionEntry* function) {
    return function != nullptr && function->type == FunctionType::kKernel;
  }
  static std::vector<std::string> names_of(const Metallib& library) {
    std::vector<std::string> names;
    for (const FunctionEntry& function : library.functions()) {
      if (is_kernel(&function)) names.push_back(function.name);
    }
    return names;
  }

  const std::shared_ptr<const Metallib> library_;
  engine::KeptPipelines pipelines_;
};

class LibraryOfSource final : public LoadedLibrary {
 public:
  LibraryOfSource(std::string_view source, const frontend::SourceOptions& options)
      : program_(std::make_shared<frontend::Program>(source, options)),
        pipelines_(program_->kernels(), [program = program_](const std::string& kernel, Engine engine) {
          const std::vector<std::byte> air = program->air_of(kernel);
          FunctionEntry function;
          function.name = kernel;
          function.bitcode = air;
          return engine(function, {});
        }) {}

  std::vector<std::string> kernels() const override { return program_->kernels(); }
  bool has(const std::string& kernel) const override {
    return std::ranges::find(program_->kernels(), kernel) != program_->kernels().end();
  }
  std::shared_ptr<Pipeline> pipeline(const std::string& kernel) override { return pipelines_.get(kernel); }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    const std::vector<std::byte> air = program_->air_of(kernel);
    const FunctionEntry function = entry_of(kernel, air);
    return write_metallib(std::span(&function, 1));
  }
  std::string_view source() const override { return program_->source(); }

 private:
  const std::shared_ptr<const frontend::Program> program_;
  engine::KeptPipelines pipelines_;
};

class OurDoor final : public Door {
 public:
  std::unique_ptr<LoadedLibrary> load(std::span<const std::byte> bytes) override {
    return std::make_unique<LibraryOfBytes>(bytes);
  }
  std::unique_ptr<LoadedLibrary> compile(std::string_view source, const frontend::SourceOptions& options) override {
    return std::make_unique<LibraryOfSource>(source, options);
  }
  void set_executor(gpu::Executor* executor) override { gpu::set_executor(executor); }
  std::vector<ValidationReport> take_validation_reports() override { return engine::take_published(); }
  std::unique_ptr<Capture> capture(const std::string& folder, const CaptureFacts& facts) override {
    return write_capture(folder, facts);
  }
};

}  // namespace
}  // namespace anymps::metal

extern "C" __attribute__((visibility("default"))) anymps::metal::Door* anymps_metal_door(unsigned version) {
  static auto* const door = new anymps::metal::OurDoor;
  return version == anymps::metal::kDoorVersion ? door : nullptr;
}
