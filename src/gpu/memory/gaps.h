// Gaps: the free ranges of one heap, by place and by length.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace anymps::gpu::memory {

class Gaps {
 public:
  explicit Gaps(std::size_t size) { insert(0, size); }

  // Takes `size` bytes from the smallest gap that holds them; nothing where none does.
  std::optional<std::size_t> take(std::size_t size);
  // Gives a taken range back, and joins it with its neighbours.
  void give(std::size_t offset, std::size_t size);

  // The largest range that starts on a multiple of `alignment` within the largest gap.
  std::size_t largest(std::size_t alignment) const;

 private:
  void insert(std::size_t offset, std::size_t size);
  void erase(std::map<std::size_t, std::size_t>::iterator gap);

  std::map<std::size_t, std::size_t> by_offset_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // size, offset
};

}  // namespace anymps::gpu::memory
