// What runs a model that AOTInductor compiled for the device. PyTorch's headers have this class for Macs alone.
#pragma once

#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <cstddef>
#include <string>

namespace anymps::backend::aoti {

class AotiRunner final : public torch::inductor::AOTIModelContainerRunner {
 public:
  AotiRunner(const std::string& library, std::size_t models, bool single_threaded = false)
      : AOTIModelContainerRunner(library, models, "mps", /*cubin_dir=*/"", single_threaded) {}
};

void register_aoti_runner();

}  // namespace anymps::backend::aoti
