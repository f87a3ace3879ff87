// What training makes smaller.
#pragma once

#include <ATen/core/Tensor.h>

#include "superres/device_policy.h"
#include "superres/network.h"

namespace anymps::superres {

// L1 of what the network makes of `low` beside `high`, and `frequency` times the mean absolute difference of their
// spectra; the network in mixed precision where the policy says so, the loss in float.
at::Tensor training_loss(Network& network, const at::Tensor& low, const at::Tensor& high, double frequency,
                         const DevicePolicy& policy);

}  // namespace anymps::superres
