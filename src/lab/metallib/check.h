// What is wrong with the kernels of Metal libraries, found in child processes.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/metallib/reader.h"

namespace anymps::lab::metallib {

struct MetalCheck {
  std::string file;
  std::optional<MetalAnswer> problem;  // why it could not be looked at
  bool interrupted = false;
  std::string compiler_warnings;                     // where it is source
  nlohmann::json kernels = nlohmann::json::array();  // metal/tool/check.h
  std::size_t errors = 0;
  std::size_t warnings = 0;
  std::size_t refusals = 0;   // kernels that cannot be run
  std::size_t not_tried = 0;  // kernels that were not launched
};

// `flags` are the compiler's, where the file is source.
MetalCheck check_metal(const std::string& file, const std::vector<std::string>& flags,
                       const std::function<void(std::size_t done, std::size_t of)>& progress);

nlohmann::json to_json(const MetalCheck& check);
// A line for each finding, as compilers have them, and one that counts.
std::string to_text(const MetalCheck& check);

}  // namespace anymps::lab::metallib
