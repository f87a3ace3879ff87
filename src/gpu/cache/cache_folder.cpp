#include "gpu/cache/cache_folder.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "gpu/support/whole_file.h"

namespace anymps::gpu::cache {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kTagName = "CACHEDIR.TAG";
constexpr std::string_view kSignature = "Signature: 8a477f597d28d172789f06886806bc55";
constexpr std::string_view kOurs = "# This folder is the cache of anymps.";

// The base directory specification says that a relative path in XDG_CACHE_HOME is to be ignored.
fs::path absolute_path_from(const char* variable) {
  const char* value = std::getenv(variable);
  fs::path path = value != nullptr ? value : "";
  return path.is_absolute() ? path : fs::path();
}

fs::path home() {
  if (fs::path path = absolute_path_from("HOME"); !path.empty()) return path;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr && user->pw_dir != nullptr ? fs::path(user->pw_dir) : fs::path();
}

CacheFolder::Usage size_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (error || !fs::exists(status)) return {};
  if (fs::is_regular_file(status)) {
    const std::uintmax_t bytes = fs::file_size(path, error);
    return {1, error ? 0 : bytes};
  }
  if (!fs::is_directory(status)) return {1, 0};
  CacheFolder::Usage usage;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const CacheFolder::Usage inner = size_of(entry->path());
    usage.files += inner.files;
    usage.bytes += inner.bytes;
  }
  return usage;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

bool write_tag(const fs::path& folder) {
  std::string text;
  for (const std::string_view line :
       {kSignature, kOurs,
        std::string_view("# Everything in it can be made again; `anymps cache clear` removes it.")}) {
    text.append(line).append("\n");
  }
  try {
    support::write_whole(folder / kTagName, text);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

CacheFolder CacheFolder::of_this_user() {
  if (const char* chosen = std::getenv("ANYMPS_CACHE"); chosen != nullptr && *chosen != '\0') {
    std::error_code error;
    fs::path path = fs::absolute(chosen, error);
    return CacheFolder(error ? fs::path(chosen) : path);
  }
  if (const fs::path base = absolute_path_from("XDG_CACHE_HOME"); !base.empty()) return CacheFolder(base / "anymps");
  if (const fs::path base = home(); !base.empty()) return CacheFolder(base / ".cache" / "anymps");
  return CacheFolder({});
}

bool CacheFolder::exists() const {
  std::error_code error;
  return !path_.empty() && fs::exists(fs::symlink_status(path_, error));
}

bool CacheFolder::is_ours() const {
  std::error_code error;
  const fs::path tag = path_ / kTagName;
  if (!fs::is_directory(fs::symlink_status(path_, error)) || !fs::is_regular_file(fs::symlink_status(tag, error))) {
    return false;
  }
  std::ifstream file(tag);
  std::string signature;
  std::string ours;
  return std::getline(file, signature) && std::getline(file, ours) && signature == kSignature && ours == kOurs;
}

bool CacheFolder::make() const {
  if (path_.empty()) return false;
  std::error_code error;
  // Nothing is written to where a link leads: it may be somebody else's folder.
  if (fs::is_symlink(fs::symlink_status(path_, error))) return false;
  fs::create_directories(path_, error);
  if (error) return false;
  if (is_ours()) return true;
  for (const fs::path& entry : entries_of(path_)) {
    // Another process may be at the same point, with its draft of the tag or with the tag itself.
    if (!entry.filename().string().starts_with(kTagName)) return is_ours();
  }
  return write_tag(path_) && is_ours();
}

CacheFolder::Usage CacheFolder::usage() const {
  Usage usage;
  for (const fs::path& entry : entries_of(path_)) {
    if (entry.filename() == kTagName) continue;
    const Usage inner = size_of(entry);
    usage.files += inner.files;
    usage.bytes += inner.bytes;
  }
  return usage;
}

CacheFolder::Cleared CacheFolder::clear() const {
  Cleared cleared;
  if (!exists()) return cleared;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path_, error))) {
    cleared.refusal = path_.string() + " is a link; set ANYMPS_CACHE to the folder itself";
    return cleared;
  }
  if (!is_ours()) {
    cleared.refusal = path_.string() + " was not made by anymps (no CACHEDIR.TAG of ours in it); remove it by hand";
    return cleared;
  }
  // The tag goes last: a clearing that was interrupted can be taken up again.
  for (const fs::path& entry : entries_of(path_)) {
    if (entry.filename() == kTagName) continue;
    const Usage inner = size_of(entry);
    fs::remove_all(entry, error);
    if (error) {
      cleared.refusal = "cannot remove " + entry.string() + ": " + error.message();
      return cleared;
    }
    cleared.freed.files += inner.files;
    cleared.freed.bytes += inner.bytes;
  }
  fs::remove(path_ / kTagName, error);
  fs::remove(path_, error);
  if (error) write_tag(path_);  // a process put a file there meanwhile: the folder stays, and stays ours
  return cleared;
}

}  // namespace anymps::gpu::cache
