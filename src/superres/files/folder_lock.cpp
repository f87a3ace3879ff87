#include "superres/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace anymps::superres::files {

FolderLock::FolderLock(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  descriptor_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) throw std::runtime_error(folder.string() + ": " + std::strerror(errno));
  // Some network file systems have no locks; there the user looks out.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    throw std::runtime_error(folder.string() + ": another process is writing to it");
  }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

}  // namespace anymps::superres::files
