// Compiled things on disk: one file per entry, in `compiled/` of the cache folder.
//
// Shared by any number of threads and processes. An entry is written under another name and renamed, so a reader needs
// no lock: it sees a whole file or none. It trusts none of them: magic, format, key, length and a SHA-256 over all of
// it must be right, and the owner must be this user or root, because what is read here is going to be executed. A file
// that fails is absent; one that is damaged is removed as well.
//
// The limit is kept by removing what was not used for longest. When an entry was last used is its modification time,
// which a use renews once an hour at most. Between two looks at the folder every process writes a sixteenth of the
// limit at most, so that is how far each may take the folder beyond it. A lock keeps two processes from looking at
// once; should it fail, they remove the same files and no harm is done.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "gpu/cache/cache_folder.h"
#include "gpu/cache/cache_key.h"
#include "gpu/support/blob.h"

namespace anymps::gpu::cache {

constexpr std::uint64_t kDefaultDiskLimit = std::uint64_t{2} << 30;

class DiskCache {
 public:
  // As write(2). Tests put disks in its place that are full.
  using Write = ssize_t (*)(int file, const void* bytes, std::size_t count);
  static ssize_t system_write(int file, const void* bytes, std::size_t count);

  // With a limit of 0, or in a folder without a path, nothing is found and nothing is kept.
  DiskCache(CacheFolder folder, std::uint64_t limit, Write write = system_write);

  std::optional<support::Blob> find(const CacheKey& key) const;

  // Nothing when all is well, else a sentence on what is not. An entry larger than the limit is left out without a
  // word.
  std::optional<std::string> put(const CacheKey& key, std::span<const std::byte> bytes);

  struct Trimmed {
    CacheFolder::Usage freed;
    CacheFolder::Usage kept;
  };
  // Removes what was not used for longest until at most `bytes` are left, and drafts that nobody will finish. Nothing
  // when another process is at it.
  std::optional<Trimmed> trim(std::uint64_t bytes) const;

  CacheFolder::Usage usage() const;
  std::uint64_t limit() const { return limit_; }
  std::filesystem::path path_of(const CacheKey& key) const;

 private:
  bool off() const { return limit_ == 0 || folder_.path().empty(); }
  std::optional<std::string> make_shelf(const std::filesystem::path& shelf) const;
  void keep_limit(std::uint64_t written);
  std::optional<Trimmed> look(std::uint64_t above, std::uint64_t down_to) const;

  const CacheFolder folder_;
  const std::uint64_t limit_;
  const Write write_;
  // How much may be written before the folder is looked at again.
  std::atomic<std::int64_t> allowance_{0};
};

struct DiskLimit {
  std::uint64_t bytes = kDefaultDiskLimit;
  std::optional<std::string> problem;  // where the variable is no size: what is wrong with it
};
// ANYMPS_CACHE_LIMIT ("500mb", "4 GiB"; 0 keeps nothing on disk), else 2 GiB.
DiskLimit disk_limit_from_environment();

}  // namespace anymps::gpu::cache
