// `anymps run --as-torch 2.8`: operators that another release of PyTorch lacks on MPS are refused as it refuses them,
// and those that it has beyond ours run.
#pragma once

#include <torch/version.h>

#include <string_view>

#include "gpu/history/operator_history.h"

namespace anymps::backend::dispatch {

// The commit of the release that is simulated, or of the one that this library was built for: errors quote it.
std::string_view quoted_commit();

// The release whose rules hold, the simulated one or that of this library: 213 is 2.13.
unsigned minor_in_force();
inline constexpr unsigned kOwnMinor = 100 * TORCH_VERSION_MAJOR + TORCH_VERSION_MINOR;

// By which route the operator ("linalg_svd") runs there.
gpu::history::OperatorRoute route_in_force(std::string_view name);

}  // namespace anymps::backend::dispatch
