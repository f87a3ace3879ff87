// The release of PyTorch whose MPS backend a program meets: the one that ANYMPS_AS_TORCH names, or else the one that
// this library was built against.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace anymps::backend::release {

// The one that ANYMPS_AS_TORCH names, by its place among gpu::history::torch_releases(). Nothing also where it names no
// release: the device is not there then, and says why.
std::optional<std::size_t> simulated_release();

// "2.13.0"
std::string_view release_in_force();

// Whether that is this minor release or a later one.
bool in_force_since(unsigned major, unsigned minor);

}  // namespace anymps::backend::release
