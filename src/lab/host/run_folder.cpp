#include "lab/host/run_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace anymps::lab::host {
namespace fs = std::filesystem;

RunFolder RunFolder::temporary() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  if (error) throw std::runtime_error("cannot use $TMPDIR for the run folder: " + error.message());
  std::string pattern = (fs::absolute(base) / "anymps-run-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("cannot make a run folder in " + base.string() + ": " + std::strerror(errno) +
                             "; set TMPDIR to a folder with room");
  }
  return RunFolder(pattern, true);
}

RunFolder RunFolder::kept(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw std::runtime_error("cannot make " + path.string() + ": " + error.message());
  if (!fs::is_empty(path, error)) throw std::runtime_error(path.string() + " is not empty; name a new folder");
  return RunFolder(fs::absolute(path), false);
}

RunFolder::RunFolder(RunFolder&& other) noexcept : path_(std::move(other.path_)), remove_(other.remove_) {
  other.remove_ = false;
}

RunFolder::~RunFolder() {
  std::error_code error;
  if (remove_) fs::remove_all(path_, error);
}

fs::path RunFolder::make_part(const std::string& name) const {
  fs::path part = path_ / name;
  fs::create_directory(part);
  return part;
}

}  // namespace anymps::lab::host
