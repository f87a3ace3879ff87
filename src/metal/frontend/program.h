// A program of Metal kernels: compiled when it is made, or found compiled; each kernel is made when it is asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/support/blob.h"
#include "gpu/support/sha256.h"
#include "metal/frontend/source.h"

namespace anymps::metal::frontend {

class Program {
 public:
  // Throws CompileError.
  Program(std::string_view source, SourceOptions options);

  const std::vector<std::string>& kernels() const { return kernels_; }
  const std::string& warnings() const { return warnings_; }
  const std::string& source() const { return source_; }

  // A module of AIR with this kernel, as bitcode. Throws CompileError for what is found only then: an undefined symbol.
  std::vector<std::byte> air_of(const std::string& kernel) const;
  // Of many; only one alone comes from the cache or goes there.
  std::vector<std::vector<std::byte>> air_of(std::span<const std::string> kernels) const;

 private:
  gpu::support::Blob compiled() const;

  std::string source_;
  gpu::support::Digest digest_;  // of the source: each kernel's name in the cache has it
  SourceOptions options_;
  std::optional<gpu::support::Blob> kept_;  // where folders are included from, whose files may change
  std::vector<std::string> kernels_;
  std::string warnings_;
};

}  // namespace anymps::metal::frontend
