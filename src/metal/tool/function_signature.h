// The signature of a function of a library, and the entry for a function.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "metal/air/signature.h"
#include "metal/library/metallib.h"

namespace anymps::metal::tool {

// Throws AirError.
air::Signature read_signature(const library::FunctionEntry& function);

// The entry of a kernel that was compiled here; `air` must outlive it. Throws AirError.
library::FunctionEntry entry_of(const std::string& kernel, std::span<const std::byte> air);

}  // namespace anymps::metal::tool
