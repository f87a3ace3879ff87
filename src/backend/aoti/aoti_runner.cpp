#include "backend/aoti/aoti_runner.h"

#include <memory>
#include <stdexcept>

namespace anymps::backend::aoti {
namespace {

std::unique_ptr<torch::inductor::AOTIModelContainerRunner> make_runner(const std::string& library, std::size_t models,
                                                                       const std::string& device, const std::string&,
                                                                       bool single_threaded) {
  if (device != "mps") throw std::runtime_error("Incorrect device passed to aoti_runner_mps: " + device);
  return std::make_unique<AotiRunner>(library, models, single_threaded);
}

}  // namespace

void register_aoti_runner() { torch::inductor::getAOTIModelRunnerRegistry()["mps"] = &make_runner; }

}  // namespace anymps::backend::aoti
