// The release of PyTorch whose MPS backend a program meets: the one that ANYMPS_AS_TORCH names, or else the one that
// this library was built against.
#pragma once

#include <string_view>

namespace anymps::backend::release {

// "2.13.0". Where ANYMPS_AS_TORCH names no release there is no device, and this is the library's own.
std::string_view played_release();

// Whether that is this minor release or a later one.
bool plays_since(unsigned major, unsigned minor);

}  // namespace anymps::backend::release
