// FreeBuffers: a pool's cached buffers, found by best fit. Of equal sizes the one freed last comes first; on a Mac it
// is the one whose object lies lowest, which is nobody's choice either.
//
// Sizes up to kDirect have a list each and a bitmap over the lists, because small buffers are taken and freed by the
// million; larger ones stand in a map.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>

namespace anymps::gpu::memory {

// Item must have `std::size_t size` and `Item* next`, and sizes must be multiples of kGrain.
template <typename Item, std::size_t kGrain, std::size_t kDirect>
class FreeBuffers {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t count() const { return count_; }

  void push(Item* item) {
    Item*& head = item->size <= kDirect ? direct_[mark(item->size)] : mapped_[item->size];
    item->next = head;
    head = item;
    ++count_;
  }

  // The smallest that holds `size`; nullptr where none does. It stays here.
  Item* best_fit(std::size_t size) const {
    if (size <= kDirect) {
      const std::size_t index = next_marked(size / kGrain);
      if (index < kLists) return direct_[index];
    }
    const auto found = mapped_.lower_bound(size);
    return found != mapped_.end() ? found->second : nullptr;
  }

  Item* largest() const {
    if (!mapped_.empty()) return mapped_.rbegin()->second;
    for (std::size_t word = kWords; word-- > 0;) {
      if (marks_[word] != 0) return direct_[word * 64 + 63 - static_cast<std::size_t>(std::countl_zero(marks_[word]))];
    }
    return nullptr;
  }

  // Takes out an item that best_fit() or largest() gave: the first of its size.
  void pop(Item* item) {
    if (item->size <= kDirect) {
      const std::size_t index = item->size / kGrain;
      direct_[index] = item->next;
      if (item->next == nullptr) marks_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
    } else if (item->next != nullptr) {
      mapped_[item->size] = item->next;
    } else {
      mapped_.erase(item->size);
    }
    --count_;
  }

  // Smallest first. visit(item) may not change the pool.
  template <typename Visit>
  void each(Visit visit) const {
    for (const Item* head : direct_) {
      for (const Item* item = head; item != nullptr; item = item->next) visit(*item);
    }
    for (const auto& [size, head] : mapped_) {
      for (const Item* item = head; item != nullptr; item = item->next) visit(*item);
    }
  }

  // Takes out, smallest first, the items of the map that `wanted` accepts, and hands each to `taken` at once.
  template <typename Wanted, typename Taken>
  void take_large_if(Wanted wanted, Taken taken) {
    for (auto bucket = mapped_.begin(); bucket != mapped_.end();) {
      Item** link = &bucket->second;
      while (*link != nullptr) {
        Item* item = *link;
        if (!wanted(*item)) {
          link = &item->next;
          continue;
        }
        *link = item->next;
        --count_;
        taken(item);
      }
      bucket = bucket->second == nullptr ? mapped_.erase(bucket) : std::next(bucket);
    }
  }

 private:
  static constexpr std::size_t kLists = kDirect / kGrain + 1;
  static constexpr std::size_t kWords = (kLists + 63) / 64;

  std::size_t mark(std::size_t size) {
    const std::size_t index = size / kGrain;
    marks_[index / 64] |= std::uint64_t{1} << (index % 64);
    return index;
  }

  std::size_t next_marked(std::size_t index) const {
    std::size_t word = index / 64;
    std::uint64_t bits = marks_[word] & (~std::uint64_t{0} << (index % 64));
    while (bits == 0) {
      if (++word == kWords) return kLists;
      bits = marks_[word];
    }
    return word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
  }

  std::array<Item*, kLists> direct_{};
  std::array<std::uint64_t, kWords> marks_{};
  std::map<std::size_t, Item*> mapped_;
  std::size_t count_ = 0;
};

}  // namespace anymps::gpu::memory
