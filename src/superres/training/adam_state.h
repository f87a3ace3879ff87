// What Adam and AdamW remember of each parameter, out of PyTorch's optimisers and back into them.
#pragma once

#include <torch/optim/optimizer.h>

#include <string>

#include "superres/weights/weights.h"

namespace anymps::superres::training {

// Under `prefix` and the parameter's number: exp_avg, exp_avg_sq, and the step as a number. What was never stepped has
// none.
void put_adam_state(torch::optim::Optimizer& optimizer, const std::string& prefix, weights::Weights& weights);
void take_adam_state(const weights::Weights& weights, const std::string& prefix, torch::optim::Optimizer& optimizer);

}  // namespace anymps::superres::training
