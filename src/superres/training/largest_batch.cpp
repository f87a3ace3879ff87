#include "superres/training/largest_batch.h"

#include <ATen/ATen.h>
#include <ATen/detail/MPSHooksInterface.h>
#include <torch/optim/adam.h>

#include "superres/device/out_of_memory.h"
#include "superres/training/loss.h"

namespace anymps::superres::training {
namespace {

void give_back(const c10::Device& device) {
  if (device.is_mps()) at::detail::getMPSHooks().emptyCache();
}

bool fits(const TrainingOptions& options, const DevicePolicy& policy, int batch) {
  bool fitted = true;
  try {
    const std::shared_ptr<networks::Network> network = networks::make_network(options.network);
    network->to(policy.device);
    torch::optim::Adam optimizer(network->parameters(), torch::optim::AdamOptions(1e-4));
    const std::int64_t side = options.data.crop;
    // The second step has the optimiser's memory beside it.
    for (int step = 0; step < 2; ++step) {
      const at::Tensor low = at::zeros({batch, 3, side, side}).to(policy.device);
      const std::int64_t large = side * options.network.scale;
      const at::Tensor high = at::zeros({batch, 3, large, large}).to(policy.device);
      const at::Tensor loss = training_loss(*network, low, high, options.frequency, policy);
      loss.backward();
      optimizer.step();
      loss.item<float>();
    }
  } catch (const std::exception& error) {
    if (!device::is_out_of_memory(error)) throw;
    fitted = false;
  }
  give_back(policy.device);
  return fitted;
}

}  // namespace

std::optional<int> largest_batch(const TrainingOptions& options, const DevicePolicy& policy) {
  give_back(policy.device);
  int good = 0;
  int bad = options.data.batch;
  while (bad - good > 1) {
    const int middle = good + (bad - good) / 2;
    (fits(options, policy, middle) ? good : bad) = middle;
  }
  return good > 0 ? std::optional(good) : std::nullopt;
}

}  // namespace anymps::superres::training
