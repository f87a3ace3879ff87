// Named tensors in files: safetensors, and PyTorch's own format.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace anymps::superres::weights {

// One line that names the file and what is wrong with it.
struct WeightsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Weights {
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // on the CPU
  std::map<std::string, std::string> about;                 // texts that safetensors keeps beside them

  // Undefined where there is none of that name.
  at::Tensor find(const std::string& name) const;
};

// The kind is told by the content. A checkpoint of PyTorch's may hold the weights under params_ema, params, state_dict
// or model, as the community's do; those are taken out. Nothing in the file is executed. Throws WeightsError.
Weights read_weights(const std::filesystem::path& path);

// Whole or not at all.
void write_safetensors(const std::filesystem::path& path, const Weights& weights);
void write_torch(const std::filesystem::path& path, const Weights& weights);

}  // namespace anymps::superres::weights
