// Random Metal kernels whose results are determined: every value is defined, a thread writes to its own places, and
// what threads exchange is ordered by barriers or does not depend on an order.
#pragma once

#include <cstdint>

#include "kernel_program.h"

namespace anymps::fuzz {

KernelProgram random_kernel(std::uint64_t seed);

}  // namespace anymps::fuzz
