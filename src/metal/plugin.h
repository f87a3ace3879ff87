// What libanymps_metal.so shows: one function. The library is opened when the first shader is, and keeps LLVM to
// itself.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/capture/capture.h"
#include "metal/frontend/source.h"
#include "metal/pipeline/loaded_library.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::gpu {
class Executor;
}

namespace anymps::metal {

class Plugin {
 public:
  virtual ~Plugin() = default;
  // Throws std::exception for bytes that are no library.
  virtual std::unique_ptr<pipeline::LoadedLibrary> load(std::span<const std::byte> bytes) = 0;
  // Compiles Metal source. Throws frontend::CompileError, and other std::exceptions for what is not the source's fault.
  virtual std::unique_ptr<pipeline::LoadedLibrary> compile(std::string_view source,
                                                           const frontend::SourceOptions& options) = 0;
  // Whose threads run kernels; it must outlive every launch.
  virtual void set_executor(gpu::Executor* executor) = 0;
  // What the sanitiser found since the last call, in launches that did not collect it themselves.
  virtual std::vector<pipeline::ValidationReport> take_validation_reports() = 0;
  // Begins a capture in a folder that is not there yet. Throws std::exception where it cannot be made.
  virtual std::unique_ptr<capture::Capture> capture(const std::string& folder, const capture::CaptureFacts& facts) = 0;
};

// Changes with every change of the classes above: both sides are built together, or not used together.
inline constexpr unsigned kPluginVersion = 6;
// The library's only symbol of ours: the plugin, or nullptr for another version.
inline constexpr char kPluginSymbol[] = "anymps_metal_plugin";
using OpenPlugin = Plugin* (*)(unsigned version);

}  // namespace anymps::metal
