// A file's bytes as a text.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace anymps::lab {

// Empty where it cannot be read.
inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace anymps::lab
