// The one folder in which anymps keeps what it can make again (compiled shaders, probed facts).
//
// It carries a CACHEDIR.TAG (bford.info/cachedir) with a line of our own below the signature. Nothing is ever deleted
// in a folder without that line, because ANYMPS_CACHE may name any folder at all. Processes share the folder freely:
// files in it are whole or absent, which is the duty of whoever writes one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace anymps::gpu::cache {

class CacheFolder {
 public:
  struct Usage {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };

  // A refusal says how far it came in `freed`; its text says what is wrong and what to do.
  struct Cleared {
    std::optional<std::string> refusal;
    Usage freed;
  };

  // $ANYMPS_CACHE, else $XDG_CACHE_HOME/anymps, else ~/.cache/anymps. Empty path when the user has no home either.
  static CacheFolder of_this_user();

  explicit CacheFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  bool exists() const;
  bool is_ours() const;

  // Makes the folder and its tag. False when that cannot be done, or when the folder holds somebody else's files.
  bool make() const;

  // What our files occupy; the tag is not counted, and links are not followed.
  Usage usage() const;

  // Removes the folder with all that is in it. Links inside are removed, not followed.
  Cleared clear() const;

 private:
  std::filesystem::path path_;
};

}  // namespace anymps::gpu::cache
