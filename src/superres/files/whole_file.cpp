#include "superres/files/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace anymps::superres {

std::optional<std::string> read_whole(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  std::string bytes;
  std::array<char, 1 << 16> part{};
  ssize_t count = 0;
  while ((count = ::read(file, part.data(), part.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return count == 0 ? std::optional(std::move(bytes)) : std::nullopt;
}

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
