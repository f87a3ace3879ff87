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
#include "metal/pipeline.h"

namespace anymps::gpu {
class Executor;
}

namespace anymps::metal {

// A library of kernels that have been loaded.
class LoadedLibrary {
 public:
  virtual ~LoadedLibrary() = default;
  virtual std::vector<std::string> kernels() const = 0;
  virtual bool has(const std::string& kernel) const = 0;
  // Throws std::exception where there is no such kernel or it cannot be run. Thread-safe; the same name gives the same
  // pipeline.
  virtual std::shared_ptr<Pipeline> pipeline(const std::string& kernel) = 0;
  // A library with this kernel alone, and the source that it was compiled from; empty where it came from none.
  virtual std::vector<std::byte> metallib_of(const std::string& kernel) const = 0;
  virtual std::string_view source() const = 0;
};

class Door {
 public:
  virtual ~Door() = default;
  // Throws std::exception for bytes that are no library.
  virtual std::unique_ptr<LoadedLibrary> load(std::span<const std::byte> bytes) = 0;
  // Compiles Metal source. Throws frontend::CompileError, and other std::exceptions for what is not the source's fault.
  virtual std::unique_ptr<LoadedLibrary> compile(std::string_view source, const frontend::SourceOptions& options) = 0;
  // Whose threads run kernels; it must outlive every launch.
  virtual void set_executor(gpu::Executor* executor) = 0;
  // What the sanitiser found since the last call, in launches that did not collect it themselves.
  virtual std::vector<ValidationReport> take_validation_reports() = 0;
  // Begins a capture in a folder that is not there yet. Throws std::exception where it cannot be made.
  virtual std::unique_ptr<Capture> capture(const std::string& folder, const CaptureFacts& facts) = 0;
};

// Changes with every change of the classes above: both sides are built together, or not used together.
inline constexpr unsigned kDoorVersion = 6;
// The library's only symbol of ours: the door, or nullptr for another version.
inline constexpr char kDoorSymbol[] = "anymps_metal_door";
using OpenDoor = Door* (*)(unsigned version);

}  // namespace anymps::metal
