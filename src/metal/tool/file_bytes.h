// Whole files.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace anymps::metal {

// Both throw RequestError that begins with the file's name.
std::vector<std::byte> read_bytes(const std::string& file);
void write_bytes(const std::string& file, std::span<const std::byte> bytes);

}  // namespace anymps::metal
