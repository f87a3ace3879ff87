// The cache of everything that is compiled: in memory, and on disk for the next process.
//
// Any thread may call anything at any time, and processes share the disk side freely. The memory side is bounded and
// drops what was not used for longest; the disk side does the same (gpu/cache/disk_cache.h). The cache never throws for
// want of a disk: what cannot be read is absent, and what cannot be written is said once and stays in memory. A forked
// child starts with an empty memory side, because the parent's may have been in the middle of a change.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gpu/cache/cache_folder.h"
#include "gpu/cache/cache_key.h"
#include "gpu/cache/disk_cache.h"
#include "gpu/support/blob.h"

namespace anymps::gpu::cache {

class CompileCache {
 public:
  struct Options {
    CacheFolder folder;
    std::uint64_t disk_limit = kDefaultDiskLimit;  // 0: nothing on disk
    std::size_t memory_limit = std::size_t{64} << 20;
    // Told once, in a sentence, when the disk cannot be written. Called without a lock held, from any thread.
    std::function<void(const std::string&)> warn;
    DiskCache::Write write = DiskCache::system_write;
  };

  explicit CompileCache(Options options);
  ~CompileCache();
  CompileCache(const CompileCache&) = delete;
  CompileCache& operator=(const CompileCache&) = delete;

  // The entry, from memory or from disk.
  std::optional<support::Blob> find(const CacheKey& key);

  // Keeps a copy of the bytes.
  void put(const CacheKey& key, std::span<const std::byte> bytes);

  // The entry, or what `make` returns, which is kept. Of the threads that ask for one key at a time, one makes it and
  // the others wait; an exception of `make` reaches them all and is not kept, so the next call tries again. Other
  // processes are not waited for. `make` may ask for other keys, as long as no two makers wait for each other.
  support::Blob get_or_make(const CacheKey& key, const std::function<support::Blob()>& make);

  const DiskCache& disk() const { return disk_; }

 private:
  struct State;

  State& state();
  void write_to_disk(const CacheKey& key, std::span<const std::byte> bytes);

  const Options options_;
  DiskCache disk_;
  std::atomic<bool> warned_{false};
  std::atomic<State*> state_;
};

// The cache of this process, in the user's folder (CacheFolder::of_this_user) with the limit of
// disk_limit_from_environment(). It warns on standard error. Never destroyed.
CompileCache& compile_cache();

}  // namespace anymps::gpu::cache
