// A file's bytes as a text.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace anymps::lab::base {

// Empty where it cannot be read. A file of /proc whose process ends meanwhile is cut short: an iterator of the stream's
// buffer would throw there.
inline std::string file_text(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace anymps::lab::base
