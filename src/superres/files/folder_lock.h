// A folder that one process at a time writes to.
#pragma once

#include <filesystem>

namespace anymps::superres::files {

// Held for as long as it lives, or the process does.
class FolderLock {
 public:
  // Makes the folder where there is none. Throws std::runtime_error where another process holds it.
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace anymps::superres::files
