// Sizes for the tests of memory.
#pragma once

#include <cstddef>

#include "gpu/memory/ledger.h"

namespace anymps::gpu {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kGiB = 1024 * kMiB;
inline constexpr memory::Ledger::Mac kSmallMac{.working_set = 2048 * kMiB, .max_buffer = 1536 * kMiB};

// What a machine has of which a test shall not run out.
inline std::size_t plenty() { return std::size_t{1} << 40; }

}  // namespace anymps::gpu
