#include "gpu/memory/gaps.h"

namespace anymps::gpu::memory {

void Gaps::insert(std::size_t offset, std::size_t size) {
  by_offset_.emplace(offset, size);
  by_size_.emplace(size, offset);
}

void Gaps::erase(std::map<std::size_t, std::size_t>::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  by_offset_.erase(gap);
}

std::optional<std::size_t> Gaps::take(std::size_t size) {
  const auto found = by_size_.lower_bound({size, 0});
  if (found == by_size_.end()) return std::nullopt;
  const auto [gap, offset] = *found;
  erase(by_offset_.find(offset));
  if (gap > size) insert(offset + size, gap - size);
  return offset;
}

void Gaps::give(std::size_t offset, std::size_t size) {
  auto after = by_offset_.lower_bound(offset);
  if (after != by_offset_.end() && after->first == offset + size) {
    size += after->second;
    const auto joined = after++;
    erase(joined);
  }
  if (after != by_offset_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      erase(before);
    }
  }
  insert(offset, size);
}

std::size_t Gaps::largest(std::size_t alignment) const {
  if (by_size_.empty()) return 0;
  const auto [size, offset] = *by_size_.rbegin();
  const std::size_t skipped = (alignment - offset % alignment) % alignment;
  return size > skipped ? size - skipped : 0;
}

}  // namespace anymps::gpu::memory
