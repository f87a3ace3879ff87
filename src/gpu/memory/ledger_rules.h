// LedgerRules: in what the allocators of PyTorch's releases differ, as far as the books can tell.
#pragma once

#include <cstdint>
#include <string_view>

namespace anymps::gpu::memory {

// Who places buffers in a heap: Metal's two kinds, by Metal's names.
enum class HeapType : std::uint8_t {
  kAutomatic,  // Metal does, and a buffer is cached whole (automatic_heaps.cpp)
  kPlacement,  // PyTorch does, and splits and joins what is free (placement_heaps.cpp): from 2.14 on
};

struct LedgerRules {
  HeapType heaps = HeapType::kAutomatic;
  // Memory stats have active_bytes: from 2.15 on.
  bool tells_active_bytes = false;

  // Of "2.13.0", "2.14.1+cpu" or "2.15".
  static LedgerRules of_release(std::string_view release);
};

}  // namespace anymps::gpu::memory
