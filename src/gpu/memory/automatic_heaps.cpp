// Metal places buffers in heaps, and a buffer that is freed is cached whole: the allocator of PyTorch 2.13.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gpu/memory/buffer_pools.h"
#include "gpu/memory/free_buffers.h"
#include "gpu/memory/gaps.h"
#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

// Metal's, not verified (see ledger.h).
constexpr std::size_t kVmPage = 16384;

struct AutomaticPool;

struct AutomaticBuffer : LedgerBuffer {
  AutomaticBuffer* next = nullptr;  // while it is cached
  std::uint64_t freed_at = 0;       // the pool's count of requests then: its age is what was asked for since
};

struct AutomaticHeap : LedgerHeap {
  AutomaticHeap(const LedgerHeap& heap, bool splits, AutomaticPool& owner)
      : LedgerHeap(heap), is_split(splits), pool(owner), gaps(heap.size), available(gaps.largest(kVmPage)) {}

  const bool is_split;  // for several buffers, or made for one
  AutomaticPool& pool;
  Gaps gaps;
  std::size_t available;
  std::map<std::size_t, const AutomaticBuffer*> buffers;  // by offset
};

AutomaticHeap& heap_of(const AutomaticBuffer& buffer) { return *static_cast<AutomaticHeap*>(buffer.heap); }

struct AutomaticPool {
  struct LessAvailable {
    using is_transparent = void;
    bool operator()(const AutomaticHeap* a, const AutomaticHeap* b) const {
      return std::pair(a->available, a->id) < std::pair(b->available, b->id);
    }
    bool operator()(const AutomaticHeap* a, std::size_t size) const { return a->available < size; }
    bool operator()(std::size_t size, const AutomaticHeap* b) const { return size < b->available; }
  };

  explicit AutomaticPool(bool small) : is_small(small) {}

  const bool is_small;
  std::set<AutomaticHeap*, LessAvailable> heaps;
  FreeBuffers<AutomaticBuffer, support::kBufferStep, kMaxSmallAlloc> cached;
  std::size_t cached_bytes = 0;
  std::size_t buffer_bytes = 0;
  std::size_t buffers = 0;
  std::uint64_t requests = 0;
};

class AutomaticHeaps final : public BufferPools {
 public:
  explicit AutomaticHeaps(HeapAccount& account) : account_(account) {}
  ~AutomaticHeaps() override {
    for (AutomaticPool* pool : {&small_, &large_}) {
      release_all(*pool);
      // Garbage collection and splitting leave heaps behind that hold nothing.
      for (AutomaticHeap* heap : pool->heaps) delete heap;
    }
  }

  std::size_t rounded(std::size_t bytes) const override { return support::round_up(bytes, support::kBufferStep); }
  LedgerBuffer* take(const BufferRequest& request) override;
  void give(LedgerBuffer* buffer) noexcept override;
  void release_cached() override;

  void list(std::vector<LedgerBooks::Segment>& heaps) const override {
    for (const AutomaticPool* pool : {&small_, &large_}) {
      for (const AutomaticHeap* heap : pool->heaps) {
        LedgerBooks::Segment& segment = heaps.emplace_back(LedgerBooks::Segment::of(*heap));
        segment.buffers.reserve(heap->buffers.size());
        for (const auto& [offset, buffer] : heap->buffers) segment.buffers.push_back(LedgerBooks::Entry::of(*buffer));
      }
    }
  }
  std::size_t cached_buffers() const override { return small_.cached.count() + large_.cached.count(); }
  std::size_t heaps() const override { return small_.heaps.size() + large_.heaps.size(); }

 private:
  struct Search : BufferRequest {
    AutomaticPool& pool;
    bool has_pressure;
    AutomaticBuffer* buffer = nullptr;
  };

  bool take_cached(Search& search);
  bool make_buffer(Search& search);
  AutomaticHeap& heap_for(Search& search);
  void release(AutomaticBuffer* buffer, bool with_empty_heap);
  void release_all(AutomaticPool& pool);
  bool release_enough(Search& search);
  void collect_garbage(Search& search);

  HeapAccount& account_;
  AutomaticPool small_{true};
  AutomaticPool large_{false};
};

LedgerBuffer* AutomaticHeaps::take(const BufferRequest& request) {
  AutomaticPool& pool = request.size <= kMaxSmallAlloc ? small_ : large_;
  Search search{request, pool, !pool.is_small && account_.has_pressure()};
  if (!take_cached(search)) {
    if (search.has_pressure && request.size < pool.cached_bytes) collect_garbage(search);
    const bool made = make_buffer(search) || take_cached(search) || (release_enough(search) && make_buffer(search));
    if (!made) {
      release_cached();
      if (!make_buffer(search)) return nullptr;
    }
  }
  return search.buffer;
}

bool AutomaticHeaps::take_cached(Search& search) {
  // As there: near the limit even what is cached is not handed out, so that the retries above release it first.
  if (account_.is_beyond_limit(search.size)) return false;
  AutomaticPool& pool = search.pool;
  if (account_.has_low_watermark() && !pool.is_small) ++pool.requests;
  AutomaticBuffer* found = pool.cached.best_fit(search.size);
  if (found == nullptr) return false;
  if (found->size > search.size + kLargeHeap) {
    // Much too large: room in a heap goes before it; where there is none, it makes room itself.
    if (pool.heaps.lower_bound(search.size) == pool.heaps.end()) {
      pool.cached.pop(found);
      release(found, /*with_empty_heap=*/false);
      search.has_pressure = false;
    }
    return false;
  }
  pool.cached.pop(found);
  pool.cached_bytes -= found->size;
  found->requested = search.requested;
  search.buffer = found;
  if (account_.tells(HeapAccount::kRecycles, pool.is_small)) {
    account_.tell("Reusing shared buffer #" + std::to_string(found->id) + " of size " + format_bytes(found->size) +
                  " (requested: " + format_bytes(found->requested) + ", use#: " + std::to_string(found->uses + 1) +
                  ", retain#: 1)");
  }
  return true;
}

AutomaticHeap& AutomaticHeaps::heap_for(Search& search) {
  AutomaticPool& pool = search.pool;
  const auto found = pool.heaps.lower_bound(search.size);
  if (found != pool.heaps.end()) {
    AutomaticHeap& heap = **found;
    pool.heaps.erase(found);
    return heap;
  }
  const HeapTier tier = heap_tier(search.size, search.has_pressure);
  const LedgerHeap heap =
      account_.add_heap(heap_size(tier, search.size), search.stack, pool.is_small, pool.heaps.size() + 1);
  return *new AutomaticHeap(heap, tier != HeapTier::kOversize, pool);
}

bool AutomaticHeaps::make_buffer(Search& search) {
  // The limit is held against the buffer, not against the heap that is made for it.
  if (account_.is_beyond_limit(search.size)) return false;
  AutomaticHeap& heap = heap_for(search);
  AutomaticPool& pool = search.pool;
  auto* buffer = new AutomaticBuffer;
  buffer->size = search.size;
  buffer->requested = search.requested;
  buffer->heap = &heap;
  buffer->offset = heap.gaps.take(search.size).value();
  buffer->id = account_.next_buffer_number();
  heap.buffers.emplace(buffer->offset, buffer);
  heap.available = heap.gaps.largest(kVmPage);
  pool.heaps.insert(&heap);
  pool.buffer_bytes += search.size;
  ++pool.buffers;
  search.buffer = buffer;
  if (account_.tells(HeapAccount::kAllocations, pool.is_small)) {
    account_.tell("Allocated shared buffer #" + std::to_string(buffer->id) + " of size " + format_bytes(search.size) +
                  " from heap #" + std::to_string(heap.id) + " (requested: " + format_bytes(search.requested) +
                  ", heap: " + format_bytes(heap.available) + ", total: " + format_bytes(account_.reserved_bytes()) +
                  ")");
  }
  return true;
}

void AutomaticHeaps::give(LedgerBuffer* given) noexcept {
  auto* buffer = static_cast<AutomaticBuffer*>(given);
  AutomaticPool& pool = heap_of(*buffer).pool;
  buffer->in_use = false;
  buffer->freed_at = pool.requests;
  pool.cached.push(buffer);
  pool.cached_bytes += buffer->size;
}

// The buffer is out of the cache's lists already.
void AutomaticHeaps::release(AutomaticBuffer* buffer, bool with_empty_heap) {
  AutomaticHeap* heap = &heap_of(*buffer);
  AutomaticPool& pool = heap->pool;
  pool.cached_bytes -= buffer->size;
  pool.buffer_bytes -= buffer->size;
  --pool.buffers;
  pool.heaps.erase(heap);
  heap->gaps.give(buffer->offset, buffer->size);
  heap->available = heap->gaps.largest(kVmPage);
  heap->buffers.erase(buffer->offset);
  if (account_.tells(HeapAccount::kReleases, pool.is_small)) {
    account_.tell("Released buffer #" + std::to_string(buffer->id) + " of size " + format_bytes(buffer->size) +
                  " from heap #" + std::to_string(heap->id) + " (heap size: " + format_bytes(heap->available) +
                  ", use#: " + std::to_string(buffer->uses) +
                  ", retain#: 1, gc#: " + std::to_string(pool.requests - buffer->freed_at) + ")");
  }
  delete buffer;
  if (!with_empty_heap || !heap->buffers.empty()) {
    pool.heaps.insert(heap);
    return;
  }
  account_.remove_heap(*heap);
  delete heap;
}

void AutomaticHeaps::release_all(AutomaticPool& pool) {
  if (pool.cached.empty()) return;
  if (account_.tells(HeapAccount::kReleases)) {
    account_.tell("Releasing " + std::to_string(pool.cached.count()) + " buffers from " +
                  (pool.is_small ? "small " : "large ") + "shared pool (total size: " +
                  format_bytes(pool.buffer_bytes) + ", #buffers: " + std::to_string(pool.buffers) + ")");
  }
  while (AutomaticBuffer* buffer = pool.cached.best_fit(0)) {
    pool.cached.pop(buffer);
    release(buffer, /*with_empty_heap=*/true);
  }
}

// Releases the cached buffer that fits, or the largest ones until they add up to the request.
bool AutomaticHeaps::release_enough(Search& search) {
  auto& cached = search.pool.cached;
  if (cached.empty()) return false;
  if (AutomaticBuffer* fitting = cached.best_fit(search.size)) {
    cached.pop(fitting);
    release(fitting, /*with_empty_heap=*/true);
    return true;
  }
  std::size_t released = 0;
  while (released < search.size) {
    AutomaticBuffer* largest = cached.largest();
    if (largest == nullptr) return false;
    released += largest->size;
    cached.pop(largest);
    release(largest, /*with_empty_heap=*/true);
  }
  return true;
}

// Frees what was not asked for in longer than average, until the low watermark is kept or nothing is old enough.
void AutomaticHeaps::collect_garbage(Search& search) {
  if (account_.reserved_bytes() < account_.low_limit()) return;
  const std::size_t target = account_.above_low_limit();
  AutomaticPool& pool = search.pool;
  double total_age = 0;
  std::size_t count = 0;
  pool.cached.each([&](const AutomaticBuffer& buffer) {
    total_age += static_cast<double>(pool.requests - buffer.freed_at);
    ++count;
  });
  std::size_t reclaimed = 0;
  std::size_t freed = 0;
  bool found = true;
  while (reclaimed < target && found && count > 0) {
    const double threshold = total_age / static_cast<double>(count);
    found = false;
    pool.cached.take_large_if(
        [&](const AutomaticBuffer& buffer) {
          return reclaimed < target && static_cast<double>(pool.requests - buffer.freed_at) >= threshold;
        },
        [&](AutomaticBuffer* buffer) {
          found = true;
          reclaimed += buffer->size;
          total_age -= static_cast<double>(pool.requests - buffer->freed_at);
          --count;
          ++freed;
          release(buffer, /*with_empty_heap=*/!heap_of(*buffer).is_split);
        });
  }
  if (account_.tells(HeapAccount::kReleases) && freed + count > 0) {
    account_.tell("Garbage collected " + std::to_string(freed) + " buffers from large shared pool (total reclaimed: " +
                  format_bytes(reclaimed) + ", #buffers: " + std::to_string(pool.cached.count()) + ")");
  }
}

void AutomaticHeaps::release_cached() {
  account_.tell_of_release();
  release_all(large_);
  release_all(small_);
}

}  // namespace

std::unique_ptr<BufferPools> make_automatic_heaps(HeapAccount& account) {
  return std::make_unique<AutomaticHeaps>(account);
}

}  // namespace anymps::gpu::memory
