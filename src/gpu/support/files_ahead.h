// Files that are opened before a process is confined (gpu/support/confine.h), and read afterwards.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace anymps::gpu::support {

struct TooManyFiles : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Opens a regular file, once, for as long as the process lives. Why it cannot be opened is told by read_plain(). Throws
// TooManyFiles where the process may have no more of them open. Not to be called by several threads at a time.
void open_ahead(const std::string& file);

// All bytes of a regular file; of one that was opened ahead by this name, through that descriptor. Throws
// std::runtime_error with the reason, without the file's name.
std::vector<std::byte> read_plain(const std::string& file);

}  // namespace anymps::gpu::support
