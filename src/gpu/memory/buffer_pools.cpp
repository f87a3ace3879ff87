#include "gpu/memory/buffer_pools.h"

#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// PyTorch's figures, by PyTorch's names for them.
constexpr std::size_t kMinLargeAlloc = 10 * kMiB;
constexpr std::size_t kRoundLarge = 2 * kMiB;
constexpr std::size_t kSmallHeap = 8 * kMiB;
constexpr std::size_t kXLargeHeap = 1024 * kMiB;

}  // namespace

HeapTier heap_tier(std::size_t size, bool has_pressure) {
  if (size <= kMaxSmallAlloc) return HeapTier::kSmall;
  if (size < kMinLargeAlloc) return HeapTier::kLarge;
  if (size < kXLargeHeap / 2 && !has_pressure) return HeapTier::kXLarge;
  return HeapTier::kOversize;
}

std::size_t heap_size(HeapTier tier, std::size_t size) {
  switch (tier) {
    case HeapTier::kSmall:
      return kSmallHeap;
    case HeapTier::kLarge:
      return kLargeHeap;
    case HeapTier::kXLarge:
      return kXLargeHeap;
    case HeapTier::kOversize:
      break;
  }
  return support::round_up(size, kRoundLarge);
}

}  // namespace anymps::gpu::memory
