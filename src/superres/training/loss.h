// What training makes smaller.
#pragma once

#include <ATen/core/Tensor.h>

#include "superres/networks/network.h"
#include "superres/training/device_policy.h"

namespace anymps::superres::training {

// L1 of what the network makes of `low` beside `high`, and `frequency` times the mean absolute difference of their
// spectra; the network in mixed precision where the policy says so, the loss in float.
at::Tensor training_loss(networks::Network& network, const at::Tensor& low, const at::Tensor& high, double frequency,
                         const DevicePolicy& policy);

}  // namespace anymps::superres::training
