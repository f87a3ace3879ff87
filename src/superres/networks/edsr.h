// EDSR (Lim et al., CVPR workshops 2017): residual blocks without normalisation. Weights are named as in BasicSR.
#pragma once

#include "superres/networks/network.h"

namespace anymps::superres::networks {

std::shared_ptr<Network> make_edsr(const NetworkOptions& options);

}  // namespace anymps::superres::networks
