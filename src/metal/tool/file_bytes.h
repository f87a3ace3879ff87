// Whole files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace anymps::metal::tool {

// Also of a file that was opened before the process was confined (gpu/support/files_ahead.h). Throws RequestError that
// begins with the file's name.
std::vector<std::byte> read_bytes(const std::string& file);

}  // namespace anymps::metal::tool
