// PlacedResults: where a queued operator's results belong. The caller has had its tensors since the call, so a CPU
// kernel that allocates a result is given the memory of the caller's tensor, found by its size. A kernel that takes it
// for a temporary of that size, or allocates its results in another order, leaves a result elsewhere: whoever queued
// the operator looks, and moves it.
//
// While one lives, it holds for its thread; there is one at a time.
#pragma once

#include <c10/util/SmallVector.h>

#include <cstddef>

namespace anymps::backend::runtime {

class PlacedResults {
 public:
  PlacedResults() noexcept { current_ = this; }
  ~PlacedResults() { current_ = nullptr; }
  PlacedResults(const PlacedResults&) = delete;
  PlacedResults& operator=(const PlacedResults&) = delete;

  void add(void* block, std::size_t bytes) { places_.push_back({block, bytes, false}); }

  // A free place of this size, which is taken from here on; nullptr where there is none, or no object lives.
  static void* claim(std::size_t bytes) noexcept {
    if (current_ == nullptr) return nullptr;
    for (Place& place : current_->places_) {
      if (place.taken || place.bytes != bytes) continue;
      place.taken = true;
      return place.block;
    }
    return nullptr;
  }

  // Whether the block is a place, which is free from here on: it is not the caller's to free.
  static bool give_back(const void* block) noexcept {
    if (current_ == nullptr) return false;
    for (Place& place : current_->places_) {
      if (place.block != block) continue;
      place.taken = false;
      return true;
    }
    return false;
  }

 private:
  struct Place {
    void* block;
    std::size_t bytes;
    bool taken;
  };

  static inline thread_local PlacedResults* current_ = nullptr;
  c10::SmallVector<Place, 4> places_;
};

}  // namespace anymps::backend::runtime
