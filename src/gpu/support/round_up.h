// Sizes in steps.
#pragma once

#include <cstddef>

namespace anymps::gpu::support {

constexpr std::size_t round_up(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

// What Metal's heapBufferSizeAndAlign is taken for; not verified on hardware (ledger.h).
inline constexpr std::size_t kBufferStep = 256;

}  // namespace anymps::gpu::support
