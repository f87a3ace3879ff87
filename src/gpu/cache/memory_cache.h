// The entries that were used last, up to a number of bytes. Not for several threads at a time.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <unordered_map>
#include <utility>

#include "gpu/cache/cache_key.h"
#include "gpu/support/blob.h"

namespace anymps::gpu::cache {

class MemoryCache {
 public:
  explicit MemoryCache(std::size_t limit) : limit_(limit) {}

  std::optional<support::Blob> find(const CacheKey& key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, found->second);
    return found->second->second;
  }

  // An entry larger than the limit is not kept.
  void put(const CacheKey& key, support::Blob blob) {
    if (const auto found = places_.find(key); found != places_.end()) drop(found->second);
    if (cost(blob) > limit_) return;
    bytes_ += cost(blob);
    entries_.emplace_front(key, std::move(blob));
    places_.emplace(key, entries_.begin());
    while (bytes_ > limit_) drop(std::prev(entries_.end()));
  }

 private:
  using Entries = std::list<std::pair<CacheKey, support::Blob>>;

  // Keeps a crowd of empty entries from being free.
  static constexpr std::size_t kOverhead = 256;
  static std::size_t cost(const support::Blob& blob) { return blob.size() + kOverhead; }

  void drop(Entries::iterator entry) {
    bytes_ -= cost(entry->second);
    places_.erase(entry->first);
    entries_.erase(entry);
  }

  const std::size_t limit_;
  std::size_t bytes_ = 0;
  Entries entries_;  // the one used last in front
  std::unordered_map<CacheKey, Entries::iterator> places_;
};

}  // namespace anymps::gpu::cache
