// The folder of one run, in which each of its processes leaves its trace. Removed at the end unless the user keeps it.
#pragma once

#include <filesystem>
#include <string>

namespace anymps::lab::host {

class RunFolder {
 public:
  // Below $TMPDIR, for this run only. Throws std::runtime_error when it cannot be made, as does the next one.
  static RunFolder temporary();
  // At `path`, which must be new or empty: traces of an older run would be counted into this one.
  static RunFolder kept(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }

  // A folder inside, for one command of the run.
  std::filesystem::path make_part(const std::string& name) const;

 private:
  RunFolder(std::filesystem::path path, bool remove) : path_(std::move(path)), remove_(remove) {}

  std::filesystem::path path_;  // absolute, because children change their folder
  bool remove_;
};

}  // namespace anymps::lab::host
