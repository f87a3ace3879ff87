#include "gpu/support/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace anymps::gpu::support {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int code) {
  throw std::runtime_error("cannot write " + path.string() + ": " + std::strerror(code));
}

// 0, or what went wrong.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int close_file(int file) { return ::close(file) == 0 ? 0 : errno; }

void write_to_device(const fs::path& path, std::string_view bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) fail(path, errno);
  const int written = write_all(file, bytes);
  const int closed = close_file(file);
  if (written != 0 || closed != 0) fail(path, written != 0 ? written : closed);
}

// Of a link, what it leads to, whether it is there or not: a link that the user made stays one.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as Linux has it
  std::error_code error;
  for (int i = 0; i < kMostLinks && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    path = path.parent_path() / fs::read_symlink(path, error);
  }
  return path;
}

// Processes and threads may write the same file at once: each has a draft of its own.
std::string draft_of(const fs::path& path) {
  static std::atomic<unsigned> next{0};
  return path.string() + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(next.fetch_add(1));
}

}  // namespace

std::optional<std::string> read_whole(const fs::path& path) {
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

void write_whole(const fs::path& path, std::string_view bytes) {
  struct stat there{};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode)) return write_to_device(path, bytes);
  const fs::path target = behind_links(path);
  const std::string draft = draft_of(target);
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  int problem = write_all(file, bytes);
  if (problem == 0 && exists && ::fchmod(file, there.st_mode & 07777U) != 0) problem = errno;
  if (problem == 0 && ::fsync(file) != 0) problem = errno;
  const int closed = close_file(file);
  if (problem == 0) problem = closed;
  if (problem == 0 && ::rename(draft.c_str(), target.c_str()) != 0) problem = errno;
  if (problem == 0) return;
  ::unlink(draft.c_str());
  fail(path, problem);
}

std::string why_not_written(const fs::path& path) {
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return std::strerror(EISDIR);
    if (::access(path.c_str(), W_OK) != 0) return std::strerror(errno);
    if (!S_ISREG(there.st_mode)) return "";
  }
  const fs::path folder = behind_links(path).parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0 ? "" : std::strerror(errno);
}

}  // namespace anymps::gpu::support
