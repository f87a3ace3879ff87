// Whether every kernel of a Metal library can be run here: read, lowered and compiled, in child processes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lab/metallib/reader.h"

namespace anymps::lab::metallib {

struct MetalVerification {
  std::optional<MetalAnswer> problem{};  // why nothing could be verified
  bool interrupted = false;
  std::size_t kernels = 0;
  std::size_t thread_loops = 0;
  std::size_t coroutines = 0;
  std::map<std::string, std::vector<std::string>> refusals{};  // by reason: the kernels
  std::vector<double> milliseconds{};                          // of each kernel that compiled, the shortest first
  // Many lanes at once, where that was asked for.
  bool simd_asked = false;
  std::map<std::string, std::vector<std::string>> declined{};  // by reason: the kernels that run one thread at a time
  std::vector<double> simd_ratios{};                           // of the time to compile, the smallest first
  std::size_t object_bytes = 0;
  std::size_t peak_kib = 0;  // of the hungriest child
  double seconds = 0;
};

// Every `step`th kernel, beginning with that of index `from`; with `simd` also as it runs many lanes at once. A child
// takes some at a time, and `jobs` of them run at once; if one crashes, its kernels are tried one by one, and the one
// that does it is refused. `progress(done, of)` is told after each child, by one thread at a time. `flags` are the
// compiler's, where the file is source.
struct MetalVerifyOptions {
  std::vector<std::string> flags;
  std::size_t step = 1;
  std::size_t from = 0;
  unsigned jobs = 1;
  bool simd = false;
};
MetalVerification verify_metal(const std::string& file, const MetalVerifyOptions& options,
                               const std::function<void(std::size_t done, std::size_t of)>& progress);

nlohmann::json to_json(const MetalVerification& verification);
std::string to_text(const MetalVerification& verification);

}  // namespace anymps::lab::metallib
