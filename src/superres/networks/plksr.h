// PLKSR (Lee et al., "Partial Large Kernel CNNs for Efficient Super-Resolution", 2024): a large kernel over a part of
// the channels; and RealPLKSR, the same with a normalisation. Weights are named as in neosr and spandrel.
#pragma once

#include "superres/networks/network.h"

namespace anymps::superres::networks {

std::shared_ptr<Network> make_plksr(const NetworkOptions& options);

}  // namespace anymps::superres::networks
