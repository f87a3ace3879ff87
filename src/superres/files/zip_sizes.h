// What a ZIP file says that its records unfold to, read before any of them is.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace anymps::superres::files {

// The sum over the directory at the end of the file, in bytes; nothing where it is damaged.
std::optional<std::uint64_t> unfolded_size(std::string_view zip);

}  // namespace anymps::superres::files
