#include "metal/door.h"

#include <map>
#include <mutex>
#include <stdexcept>

#include "gpu/executor.h"
#include "metal/engine/reports.h"

namespace anymps::metal {
namespace {

class LibraryOfBytes final : public LoadedLibrary {
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

  std::shared_ptr<Pipeline> pipeline(const std::string& kernel) override {
    const FunctionEntry* function = library_.find(kernel);
    if (function == nullptr) throw std::invalid_argument("there is no kernel " + kernel);
    std::lock_guard lock(mutex_);
    std::shared_ptr<Pipeline>& made = pipelines_[kernel];
    if (!made) made = make_chosen_pipeline(*function, {});
    return made;
  }

 private:
  const Metallib library_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Pipeline>> pipelines_;
};

class OurDoor final : public Door {
 public:
  std::unique_ptr<LoadedLibrary> load(std::span<const std::byte> bytes) override {
    return std::make_unique<LibraryOfBytes>(bytes);
  }
  void set_executor(gpu::Executor* executor) override { gpu::set_executor(executor); }
  std::vector<ValidationReport> take_validation_reports() override { return engine::take_published(); }
};

}  // namespace
}  // namespace anymps::metal

extern "C" __attribute__((visibility("default"))) anymps::metal::Door* anymps_metal_door(unsigned version) {
  static auto* const door = new anymps::metal::OurDoor;
  return version == anymps::metal::kDoorVersion ? door : nullptr;
}
