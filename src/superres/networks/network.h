// The networks that can be trained: what they are made of, and by which names their weights go.
#pragma once

#include <torch/nn/module.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "superres/networks/upsampler.h"

namespace anymps::superres::networks {

struct NetworkOptions {
  std::string kind = "edsr";  // "edsr", "plksr" or "realplksr"
  int scale = 2;
  Upsampler upsampler = Upsampler::kPixelShuffle;
  int width = 32;              // channels inside
  int blocks = 8;              // residual blocks
  int kernel = 13;             // plksr's large one
  bool checkpointing = false;  // compute each block again in the backward pass instead of keeping what it made

  // Throws std::invalid_argument with a line about what cannot be.
  void check() const;
  nlohmann::json to_json() const;
  static NetworkOptions from_json(const nlohmann::json& json);
};

// RGB, 0 to 1, of any size; the result is `scale` times as large.
class Network : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const at::Tensor& low) = 0;
  // Around a pixel of the low resolution: how far away another one can change it.
  virtual int reach() const = 0;
};

// With weights of its own kind of initialisation, from PyTorch's generator for the CPU.
std::shared_ptr<Network> make_network(const NetworkOptions& options);

}  // namespace anymps::superres::networks
