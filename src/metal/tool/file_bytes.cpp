#include "metal/tool/file_bytes.h"

#include <stdexcept>

#include "gpu/support/files_ahead.h"
#include "metal/tool/request_error.h"

namespace anymps::metal::tool {

std::vector<std::byte> read_bytes(const std::string& file) {
  try {
    return gpu::support::read_plain(file);
  } catch (const std::runtime_error& error) {
    refuse_file(file, error.what());
  }
}

}  // namespace anymps::metal::tool
