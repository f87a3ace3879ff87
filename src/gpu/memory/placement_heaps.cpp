// PyTorch places buffers in heaps itself: the allocator of PyTorch 2.14. Blocks partition a heap. A request is cut out
// of a free block, and neighbours that are free are joined when no block alone is long enough.
#include <algorithm>
#include <bit>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "gpu/memory/buffer_pools.h"
#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

// Large sizes are rounded up to a 32nd of their power of two.
constexpr int kLargeBucketShift = 5;

constexpr StreamId kNoStream = -1;

struct PlacementBlock;

// By size; of equal ones the first of the oldest heap. On a Mac it is the heap whose object lies lowest.
struct BySize {
  using is_transparent = void;
  bool operator()(const PlacementBlock* a, const PlacementBlock* b) const;
  bool operator()(const PlacementBlock* a, std::size_t size) const;
};
using FreeBlocks = std::set<PlacementBlock*, BySize>;

// A range of a heap. Where it has a buffer it has that buffer's number, and the stream that it was made for.
struct PlacementBlock : LedgerBuffer {
  PlacementBlock* next = nullptr;  // the one behind it in its heap
  StreamId stream = kNoStream;
  // Where it is among the free ones, and that place while it is not: it comes and goes at each request.
  FreeBlocks::iterator place;
  FreeBlocks::node_type kept_place;

  bool has_buffer() const { return id != 0; }
};

bool BySize::operator()(const PlacementBlock* a, const PlacementBlock* b) const {
  if (a->size != b->size) return a->size < b->size;
  if (a->heap != b->heap) return a->heap->id < b->heap->id;
  return a->offset < b->offset;
}
bool BySize::operator()(const PlacementBlock* a, std::size_t size) const { return a->size < size; }

struct PlacementPool;

struct PlacementHeap : LedgerHeap {
  PlacementHeap(const LedgerHeap& heap, PlacementPool& owner)
      : LedgerHeap(heap), pool(owner), free_bytes(heap.size), longest_run(heap.size) {}
  ~PlacementHeap() {
    for (PlacementBlock* block = first; block != nullptr;) delete std::exchange(block, block->next);
  }
  PlacementHeap(const PlacementHeap&) = delete;
  PlacementHeap& operator=(const PlacementHeap&) = delete;

  PlacementPool& pool;
  std::size_t free_bytes;
  // Neighbouring free blocks come to no more than this: heaps that cannot help are passed over.
  std::size_t longest_run;
  PlacementBlock* first = nullptr;
};

PlacementHeap& heap_of(const PlacementBlock& block) { return *static_cast<PlacementHeap*>(block.heap); }

struct PlacementPool {
  explicit PlacementPool(bool small) : is_small(small), least_block(small ? support::kBufferStep : kMaxSmallAlloc) {}

  const bool is_small;
  // No request of this pool could use less, so less is not split off.
  const std::size_t least_block;
  std::size_t free_bytes = 0;
  std::vector<std::unique_ptr<PlacementHeap>> heaps;  // the oldest first
  FreeBlocks free;
};

class PlacementHeaps final : public BufferPools {
 public:
  PlacementHeaps(HeapAccount& account, std::size_t max_buffer) : account_(account), max_buffer_(max_buffer) {}

  std::size_t rounded(std::size_t bytes) const override;
  LedgerBuffer* take(const BufferRequest& request) override;
  void give(LedgerBuffer* buffer) noexcept override;
  void release_cached() override;

  void list(std::vector<LedgerBooks::Segment>& heaps) const override {
    for (const PlacementPool* pool : {&small_, &large_}) {
      for (const auto& heap : pool->heaps) {
        LedgerBooks::Segment& segment = heaps.emplace_back(LedgerBooks::Segment::of(*heap));
        for (const PlacementBlock* block = heap->first; block != nullptr; block = block->next) {
          if (block->has_buffer()) segment.buffers.push_back(LedgerBooks::Entry::of(*block));
        }
      }
    }
  }
  std::size_t cached_buffers() const override {
    std::size_t count = 0;
    for (const PlacementPool* pool : {&small_, &large_}) {
      count += static_cast<std::size_t>(std::ranges::count_if(pool->free, &PlacementBlock::has_buffer));
    }
    return count;
  }
  std::size_t heaps() const override { return small_.heaps.size() + large_.heaps.size(); }

 private:
  struct Search : BufferRequest {
    PlacementPool& pool;
    bool has_pressure;
  };

  PlacementBlock* find_free(const Search& search);
  PlacementBlock* find_joined(const Search& search);
  PlacementBlock* add_heap(const Search& search);
  PlacementBlock* cut(const Search& search, PlacementBlock* block);
  PlacementBlock* join(PlacementPool& pool, PlacementBlock* first, PlacementBlock* last);
  void make_buffer(const Search& search, PlacementBlock* block);
  void release_buffer(const PlacementPool& pool, PlacementBlock* block);
  void add_free(PlacementPool& pool, PlacementBlock* block);
  void remove_free(PlacementPool& pool, PlacementBlock* block);
  std::size_t release_free_heaps(PlacementPool& pool, std::size_t target);
  void release_heap(PlacementPool& pool, PlacementHeap& heap);
  void collect_garbage(PlacementPool& pool);

  HeapAccount& account_;
  const std::size_t max_buffer_;
  PlacementPool small_{true};
  PlacementPool large_{false};
};

// So that what grows a little from step to step finds the last step's buffer long enough. A size stays in its tier, and
// below the longest buffer.
std::size_t PlacementHeaps::rounded(std::size_t bytes) const {
  const std::size_t aligned = support::round_up(bytes, support::kBufferStep);
  if (aligned <= kMaxSmallAlloc) return aligned;
  const std::size_t bucket = support::round_up(aligned, std::bit_floor(aligned) >> kLargeBucketShift);
  return bucket < max_buffer_ && heap_tier(bucket, false) == heap_tier(aligned, false) ? bucket : aligned;
}

LedgerBuffer* PlacementHeaps::take(const BufferRequest& request) {
  PlacementPool& pool = request.size <= kMaxSmallAlloc ? small_ : large_;
  const Search search{request, pool, !pool.is_small && account_.has_pressure()};
  PlacementBlock* block = find_free(search);
  if (block == nullptr) {
    if (search.has_pressure && request.size < pool.free_bytes) collect_garbage(pool);
    block = add_heap(search);
  }
  if (block == nullptr) block = find_free(search);
  if (block == nullptr && release_free_heaps(pool, request.size) != 0) block = add_heap(search);
  if (block == nullptr) {
    release_cached();
    block = find_free(search);
    if (block == nullptr) block = add_heap(search);
  }
  return block;
}

PlacementBlock* PlacementHeaps::find_free(const Search& search) {
  // As there: near the limit even what is free is not handed out, so that the retries above release it first.
  if (account_.is_beyond_limit(search.size)) return nullptr;
  PlacementPool& pool = search.pool;
  const auto shortest = pool.free.lower_bound(search.size);
  // A buffer that is not too long is handed out as it is, but to the stream alone that it was made for: PyTorch has a
  // list for each stream. Else a buffer is made on the shortest range, whatever was on it.
  const auto own = std::find_if(shortest, pool.free.end(), [&](const PlacementBlock* block) {
    return block->stream == search.stream || block->size - search.size >= pool.least_block;
  });
  const bool as_it_is = own != pool.free.end() && (*own)->size - search.size < pool.least_block;
  PlacementBlock* block = nullptr;
  if (as_it_is) {
    block = cut(search, *own);
  } else {
    block = shortest != pool.free.end() ? cut(search, *shortest) : find_joined(search);
  }
  if (block != nullptr && account_.tells(HeapAccount::kRecycles, pool.is_small)) {
    account_.tell("Reusing shared buffer #" + std::to_string(block->id) + " of size " + format_bytes(block->size) +
                  " (requested: " + format_bytes(block->requested) + ", use#: " + std::to_string(block->uses + 1) +
                  ", retain#: 1)");
  }
  return block;
}

PlacementBlock* PlacementHeaps::find_joined(const Search& search) {
  for (const auto& heap : search.pool.heaps) {
    if (heap->longest_run < search.size) continue;
    std::size_t longest = 0;
    std::size_t run = 0;
    PlacementBlock* first = nullptr;
    for (PlacementBlock* block = heap->first; block != nullptr; block = block->next) {
      if (block->in_use) {
        run = 0;
        continue;
      }
      if (run == 0) first = block;
      run += block->size;
      longest = std::max(longest, run);
      if (run >= search.size) return cut(search, join(search.pool, first, block));
    }
    heap->longest_run = longest;
  }
  return nullptr;
}

PlacementBlock* PlacementHeaps::add_heap(const Search& search) {
  // The limit is held against the buffer, not against the heap that is made for it.
  if (account_.is_beyond_limit(search.size)) return nullptr;
  PlacementPool& pool = search.pool;
  const std::size_t size = heap_size(heap_tier(search.size, search.has_pressure), search.size);
  auto heap = std::make_unique<PlacementHeap>(
      account_.add_heap(size, search.stack, pool.is_small, pool.heaps.size() + 1), pool);
  auto* block = new PlacementBlock;
  block->size = size;
  block->heap = heap.get();
  heap->first = block;
  pool.heaps.push_back(std::move(heap));
  pool.free_bytes += size;
  add_free(pool, block);
  return cut(search, block);
}

// Takes what is asked for from the beginning of a free block. Its buffer stays where it is neither too long nor
// another stream's.
PlacementBlock* PlacementHeaps::cut(const Search& search, PlacementBlock* block) {
  PlacementPool& pool = search.pool;
  PlacementHeap& heap = heap_of(*block);
  remove_free(pool, block);
  const std::size_t rest = block->size - search.size;
  const bool splits = rest >= pool.least_block;
  if (splits || block->stream != search.stream) release_buffer(pool, block);
  if (splits) {
    auto* remainder = new PlacementBlock;
    remainder->size = rest;
    remainder->offset = block->offset + search.size;
    remainder->heap = &heap;
    remainder->next = block->next;
    block->next = remainder;
    block->size = search.size;
    add_free(pool, remainder);
  }
  pool.free_bytes -= block->size;
  heap.free_bytes -= block->size;
  heap.longest_run = std::min(heap.longest_run, heap.free_bytes);
  block->requested = search.requested;
  if (!block->has_buffer()) make_buffer(search, block);
  return block;
}

PlacementBlock* PlacementHeaps::join(PlacementPool& pool, PlacementBlock* first, PlacementBlock* last) {
  if (first == last) return first;
  PlacementBlock* const behind = last->next;
  remove_free(pool, first);
  release_buffer(pool, first);
  for (PlacementBlock* block = first->next; block != behind;) {
    remove_free(pool, block);
    release_buffer(pool, block);
    first->size += block->size;
    delete std::exchange(block, block->next);
  }
  first->next = behind;
  add_free(pool, first);
  return first;
}

void PlacementHeaps::make_buffer(const Search& search, PlacementBlock* block) {
  block->id = account_.next_buffer_number();
  block->stream = search.stream;
  if (account_.tells(HeapAccount::kAllocations, search.pool.is_small)) {
    const PlacementHeap& heap = heap_of(*block);
    account_.tell("Allocated shared buffer #" + std::to_string(block->id) + " of size " + format_bytes(block->size) +
                  " from heap #" + std::to_string(heap.id) + " (offset: " + format_bytes(block->offset) +
                  ", heap free: " + format_bytes(heap.free_bytes) +
                  ", total: " + format_bytes(account_.reserved_bytes()) + ")");
  }
}

void PlacementHeaps::release_buffer(const PlacementPool& pool, PlacementBlock* block) {
  if (!block->has_buffer()) return;
  block->id = 0;
  block->stream = kNoStream;
  if (account_.tells(HeapAccount::kReleases, pool.is_small)) {
    account_.tell("Released buffer of size " + format_bytes(block->size) + " from heap #" +
                  std::to_string(block->heap->id) + " (use#: " + std::to_string(block->uses) + ", retain#: 1)");
  }
}

void PlacementHeaps::add_free(PlacementPool& pool, PlacementBlock* block) {
  block->place = block->kept_place.empty() ? pool.free.insert(block).first
                                           : pool.free.insert(std::move(block->kept_place)).position;
}

void PlacementHeaps::remove_free(PlacementPool& pool, PlacementBlock* block) {
  block->kept_place = pool.free.extract(block->place);
}

void PlacementHeaps::give(LedgerBuffer* buffer) noexcept {
  auto* block = static_cast<PlacementBlock*>(buffer);
  PlacementHeap& heap = heap_of(*block);
  block->in_use = false;
  add_free(heap.pool, block);
  heap.pool.free_bytes += block->size;
  heap.free_bytes += block->size;
  // Its neighbours may be free as well: how much they come to is counted when it is asked for.
  heap.longest_run = heap.free_bytes;
}

// Heaps are given back whole: the oldest that hold nothing, until they come to the target. What they come to.
std::size_t PlacementHeaps::release_free_heaps(PlacementPool& pool, std::size_t target) {
  std::size_t released = 0;
  std::erase_if(pool.heaps, [&](const std::unique_ptr<PlacementHeap>& heap) {
    if (released >= target || heap->free_bytes != heap->size) return false;
    released += heap->size;
    release_heap(pool, *heap);
    return true;
  });
  return released;
}

void PlacementHeaps::release_heap(PlacementPool& pool, PlacementHeap& heap) {
  for (PlacementBlock* block = heap.first; block != nullptr; block = block->next) {
    remove_free(pool, block);
    release_buffer(pool, block);
  }
  pool.free_bytes -= heap.size;
  account_.remove_heap(heap);
}

void PlacementHeaps::collect_garbage(PlacementPool& pool) {
  if (account_.reserved_bytes() < account_.low_limit()) return;
  const std::size_t target = account_.above_low_limit();
  const std::size_t reclaimed = release_free_heaps(pool, target);
  if (account_.tells(HeapAccount::kReleases)) {
    account_.tell("Garbage collected " + format_bytes(reclaimed) + " from shared pool (target: " +
                  format_bytes(target) + ", #heaps: " + std::to_string(pool.heaps.size()) + ")");
  }
}

void PlacementHeaps::release_cached() {
  account_.tell_of_release();
  for (PlacementPool* pool : {&large_, &small_}) {
    release_free_heaps(*pool, std::numeric_limits<std::size_t>::max());
  }
}

}  // namespace

std::unique_ptr<BufferPools> make_placement_heaps(HeapAccount& account, std::size_t max_buffer) {
  return std::make_unique<PlacementHeaps>(account, max_buffer);
}

}  // namespace anymps::gpu::memory
