// EDSR (Lim et al., CVPR workshops 2017): residual blocks without normalisation. Weights are named as in BasicSR.
#pragma once

#include "superres/network.h"

namespace anymps::superres {

std::shared_ptr<Network> make_edsr(const NetworkOptions& options);

}  // namespace anymps::superres
