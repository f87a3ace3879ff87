// What every program begins with, Metal's standard library, parsed before.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "gpu/support/blob.h"
#include "metal/frontend/source.h"

namespace anymps::metal::frontend {

// Of what, how and by which Clang they are made: where one of these differs they cannot be used.
std::string identity_of_headers(const SourceOptions& options);

// Parses them, which takes about a second.
std::vector<std::byte> precompile_headers(const SourceOptions& options);

// Headers that were precompiled when the library was built, and are part of it; `bytes` are not copied.
void set_built_in_headers(std::string identity, std::span<const std::byte> bytes);

class PrecompiledHeaders {
 public:
  // The library's own, or those of the cache.
  explicit PrecompiledHeaders(const SourceOptions& options);
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  gpu::support::Blob kept_;
  std::span<const std::byte> bytes_;
};

}  // namespace anymps::metal::frontend
