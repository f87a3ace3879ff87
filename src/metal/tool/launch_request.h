// What a launch from the command line is asked to be (run.h has the options).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "metal/abi/constant_values.h"
#include "metal/pipeline/pipeline.h"

namespace anymps::metal::tool {

struct LaunchRequest {
  pipeline::Size threads = {1, 1, 1};
  std::optional<pipeline::Size> group;
  std::vector<std::string> arguments;
  std::map<unsigned, std::size_t> threadgroup_bytes;
  std::vector<std::pair<std::string, std::string>> constants;  // id or name, and value
  std::map<unsigned, std::string> outputs;                     // by binding: a file, or nothing
  std::uint64_t seed = 0;
  std::size_t repeat = 0;
  bool validate = false;
};

// Throws RequestError that names the option.
LaunchRequest launch_request_of(std::span<const std::string> options);

// "0 device float* out, 1 constant float& factor": the buffers of a kernel, as a line.
std::string buffers_of(const air::Signature& signature);

// Throws RequestError for a constant that the kernel does not have, a value that it cannot be, or one that is missing.
abi::ConstantValues constants_of(const LaunchRequest& request, const air::Signature& signature);

}  // namespace anymps::metal::tool
