// BufferPools: the buffers of a simulated Mac's allocator, those in use and those that are cached, and the heaps in
// which they lie. There is one kind for each kind of heaps (ledger_rules.h). Not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/memory/heap_account.h"
#include "gpu/memory/ledger_records.h"
#include "gpu/stream.h"

namespace anymps::gpu::memory {

// What all releases have, by PyTorch's names.
inline constexpr std::size_t kMaxSmallAlloc = std::size_t{1} << 20;
inline constexpr std::size_t kLargeHeap = std::size_t{32} << 20;

// The size of a heap that is made for a buffer of so many bytes, and whether it is meant for several. (HeapBlock::
// createHeapBlock; from 2.14 on the kinds are getHeapTier's.)
enum class HeapTier : std::uint8_t { kSmall, kLarge, kXLarge, kOversize };
HeapTier heap_tier(std::size_t size, bool has_pressure);
std::size_t heap_size(HeapTier tier, std::size_t size);

struct BufferRequest {
  std::size_t size;       // after rounded()
  std::size_t requested;  // before it
  std::uint64_t stack;
  StreamId stream;  // of who asks
};

class BufferPools {
 public:
  virtual ~BufferPools() = default;

  // What a buffer for so many bytes takes.
  virtual std::size_t rounded(std::size_t bytes) const = 0;
  // A buffer, cached or new; nullptr where the limits leave no room, and then nothing is changed but the cache.
  virtual LedgerBuffer* take(const BufferRequest& request) = 0;
  virtual void give(LedgerBuffer* buffer) noexcept = 0;
  // torch.mps.empty_cache()
  virtual void release_cached() = 0;

  // Appends to it, in no order.
  virtual void list(std::vector<LedgerBooks::Segment>& heaps) const = 0;
  virtual std::size_t cached_buffers() const = 0;
  virtual std::size_t heaps() const = 0;
};

// With buffers shorter than `max_buffer`. The account must outlive them.
std::unique_ptr<BufferPools> make_automatic_heaps(HeapAccount& account);
std::unique_ptr<BufferPools> make_placement_heaps(HeapAccount& account, std::size_t max_buffer);

}  // namespace anymps::gpu::memory
