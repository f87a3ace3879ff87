// Reading a file through memory. Where it is shorter than it says, or becomes so while it is read, the system sends a
// signal, and no call returns an error.
#pragma once

#include <cstddef>
#include <filesystem>

namespace anymps::superres::files {

// While it lives, reading beyond the end of a file that this process has mapped ends the program with one line about it
// and status 2, instead of SIGBUS. Of more files at a time than kMostMapped the later ones are not looked at.
class MappedFile {
 public:
  static constexpr std::size_t kMostMapped = 8;

  // The file must have been mapped by now.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

 private:
  std::size_t place_;
};

}  // namespace anymps::superres::files
