// A library of kernels, loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "metal/pipeline/pipeline.h"

namespace anymps::metal::pipeline {

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

}  // namespace anymps::metal::pipeline
