// `anymps run --as-torch 2.8`: operators that another release of PyTorch lacks on MPS are refused as it refuses them,
// and those that it has beyond ours run.
#pragma once

#include <string_view>

namespace anymps::backend::dispatch {

// The commit of the release that is simulated, or of the one that this library was built for: errors quote it.
std::string_view quoted_commit();

}  // namespace anymps::backend::dispatch
