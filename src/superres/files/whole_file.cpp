#include "superres/files/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace anymps::superres {

void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  const std::string beside = path.string() + ".part";
  const auto fail = [&path](int code) { throw std::runtime_error(path.string() + ": " + std::strerror(code)); };
  const int file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(errno);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int code = errno;
      ::close(file);
      ::unlink(beside.c_str());
      fail(code);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  const bool kept = ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  if (!kept) fail(code);
  if (::rename(beside.c_str(), path.c_str()) != 0) fail(errno);
}

}  // namespace anymps::superres
