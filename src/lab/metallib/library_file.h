// A file of kernels as a library: itself, or what its source compiles to, in a folder that is removed again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/host/run_folder.h"
#include "lab/metallib/reader.h"

namespace anymps::lab::metallib {

// For verbs that ask about one file many times: source is compiled once.
class MetalLibraryFile {
 public:
  // `flags` are the compiler's (metal/tool/tool.h).
  MetalLibraryFile(const std::string& file, const std::vector<std::string>& flags);

  const std::optional<MetalAnswer>& problem() const { return problem_; }  // why it cannot be compiled
  const std::string& path() const { return path_; }
  const std::string& warnings() const { return warnings_; }

 private:
  std::optional<host::RunFolder> folder_;
  std::string path_;
  std::string warnings_;
  std::optional<MetalAnswer> problem_;
};

// Words of a request: a verb, the compiler's flags, and the rest.
std::vector<std::string> metal_request(const std::string& verb, const std::vector<std::string>& flags,
                                       const std::vector<std::string>& rest);

}  // namespace anymps::lab::metallib
