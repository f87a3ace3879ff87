// Sizes of memory as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace anymps::gpu::support {

// "4gb", "512 MiB", "1.5g", "1024": binary units, as the memory of a Mac is counted. Nothing for anything else.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace anymps::gpu::support
