// The signature of a function of a library.
#pragma once

#include "metal/air/signature.h"
#include "metal/library/metallib.h"

namespace anymps::metal {

// Throws AirError.
Signature read_signature(const FunctionEntry& function);

}  // namespace anymps::metal
