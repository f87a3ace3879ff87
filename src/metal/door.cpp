#include "metal/door.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>

#include "gpu/executor.h"
#include "metal/capture/writer.h"
#include "metal/engine/reports.h"
#include "metal/frontend/program.h"
#include "metal/library/metallib_writer.h"
#include "metal/tool/function_signature.h"

namespace anymps::metal {
namespace {

// Keeps the pipelines that were asked for.
class KeepingLibrary : public LoadedLibrary {
 public:
  std::shared_ptr<Pipeline> pipeline(const std::string& kernel) override {
    std::lock_guard lock(mutex_);
    std::shared_ptr<Pipeline>& made = pipelines_[kernel];
    if (!made) made = make(kernel);
    return made;
  }

 private:
  virtual std::shared_ptr<Pipeline> make(const std::string& kernel) = 0;

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Pipeline>> pipelines_;
};

class LibraryOfBytes final : public KeepingLibrary {
 public:
  explicit LibraryOfBytes(std::span<const std::byte> bytes)
      : library_(Metallib::from_bytes({bytes.begin(), bytes.end()})) {}

  std::vector<std::string> kernels() const override {
    std::vector<std::string> names;
    for (const FunctionEntry& function : library_.functions()) {
      if (function.type == FunctionType::kKernel) names.push_back(function.name);
    }
    return names;
  }
  bool has(const std::string& kernel) const override {
    const FunctionEntry* function = library_.find(kernel);
    return function != nullptr && function->type == FunctionType::kKernel;
  }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    return write_metallib(std::span(&entry(kernel), 1));
  }
  std::string_view source() const override { return {}; }

 private:
  std::shared_ptr<Pipeline> make(const std::string& kernel) override { return make_chosen_pipeline(entry(kernel), {}); }
  const FunctionEntry& entry(const std::string& kernel) const {
    const FunctionEntry* function = library_.find(kernel);
    if (function == nullptr) throw std::invalid_argument("there is no kernel " + kernel);
    return *function;
  }

  const Metallib library_;
};

class LibraryOfSource final : public KeepingLibrary {
 public:
  LibraryOfSource(std::string_view source, const frontend::SourceOptions& options) : program_(source, options) {}

  std::vector<std::string> kernels() const override { return program_.kernels(); }
  bool has(const std::string& kernel) const override {
    return std::ranges::find(program_.kernels(), kernel) != program_.kernels().end();
  }
  std::vector<std::byte> metallib_of(const std::string& kernel) const override {
    const std::vector<std::byte> air = program_.air_of(kernel);
    const FunctionEntry function = entry_of(kernel, air);
    return write_metallib(std::span(&function, 1));
  }
  std::string_view source() const override { return program_.source(); }

 private:
  std::shared_ptr<Pipeline> make(const std::string& kernel) override {
    const std::vector<std::byte> air = program_.air_of(kernel);
    FunctionEntry function;
    function.name = kernel;
    function.bitcode = air;
    return make_chosen_pipeline(function, {});
  }

  const frontend::Program program_;
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
