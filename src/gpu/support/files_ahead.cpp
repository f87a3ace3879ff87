#include "gpu/support/files_ahead.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace anymps::gpu::support {
namespace {

struct OpenedAhead {
  int descriptor = -1;
  std::size_t size = 0;
  std::string problem{};  // why it is not open
};

// Never destroyed: descriptors are the process's.
std::unordered_map<std::string, OpenedAhead>& ahead() {
  static auto* const files = new std::unordered_map<std::string, OpenedAhead>;
  return *files;
}

std::string reason(int error) { return std::error_code(error, std::generic_category()).message(); }

OpenedAhead open_plain(const std::string& file) {
  // A pipe would keep open() waiting.
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) return {.problem = reason(errno)};
  if (!S_ISREG(facts.st_mode)) return {.problem = "not a regular file"};
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {.problem = errno == EMFILE || errno == ENFILE ? reason(errno) : "cannot be read"};
  if (::fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode)) {
    return {.descriptor = descriptor, .size = static_cast<std::size_t>(facts.st_size)};
  }
  ::close(descriptor);
  return {.problem = "not a regular file"};
}

std::vector<std::byte> bytes_of(const OpenedAhead& file) {
  std::vector<std::byte> bytes(file.size);
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::pread(file.descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw std::runtime_error("cannot be read");
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

void open_ahead(const std::string& file) {
  if (ahead().contains(file)) return;
  OpenedAhead opened = open_plain(file);
  if (opened.problem == reason(EMFILE) || opened.problem == reason(ENFILE)) {
    throw TooManyFiles(file + ": " + opened.problem);
  }
  ahead().emplace(file, std::move(opened));
}

std::vector<std::byte> read_plain(const std::string& file) {
  const auto found = ahead().find(file);
  const OpenedAhead opened = found == ahead().end() ? open_plain(file) : found->second;
  if (!opened.problem.empty()) throw std::runtime_error(opened.problem);
  if (found != ahead().end()) return bytes_of(opened);
  struct Closed {
    int descriptor;
    ~Closed() { ::close(descriptor); }
  } const closed{opened.descriptor};
  return bytes_of(opened);
}

}  // namespace anymps::gpu::support
