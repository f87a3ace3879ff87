#include "metal/tool/file_bytes.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "gpu/whole_file.h"
#include "metal/tool/request_error.h"

namespace anymps::metal {

std::vector<std::byte> read_bytes(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) refuse_file(file, error ? error.message() : "not a regular file");
  const auto size = std::filesystem::file_size(file, error);
  if (error) refuse_file(file, error.message());
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream stream(file, std::ios::binary);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
    refuse_file(file, "cannot be read");
  }
  return bytes;
}

void write_bytes(const std::string& file, std::span<const std::byte> bytes) {
  try {
    gpu::write_whole(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (const std::runtime_error&) {
    refuse_file(file, "cannot be written");
  }
}

}  // namespace anymps::metal
