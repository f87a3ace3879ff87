// The values that a launch gives to function constants.
#pragma once

#include <cstdint>
#include <map>

namespace anymps::metal::abi {

// Function constants by id, as the bits of their type. Those that are not given are zero.
using ConstantValues = std::map<unsigned, std::uint64_t>;

}  // namespace anymps::metal::abi
