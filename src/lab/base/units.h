// Amounts with their units, for people.
#pragma once

#include <cstdint>
#include <string>

namespace anymps::lab::base {

// "12.3 MiB". Binary units, as PyTorch's own messages have them.
std::string human_bytes(std::uint64_t bytes);

// "12.3 ms".
std::string human_seconds(double seconds);

}  // namespace anymps::lab::base
