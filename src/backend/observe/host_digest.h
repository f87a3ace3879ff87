// Whether the host changed some memory: a number made of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anymps::backend::observe {

// Of all bytes up to a mebibyte, and of as many, evenly spread, beyond.
std::uint64_t host_digest(const void* data, std::size_t bytes);

}  // namespace anymps::backend::observe
