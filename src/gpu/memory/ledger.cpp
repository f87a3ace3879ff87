#include "gpu/memory/ledger.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "gpu/memory/free_buffers.h"
#include "gpu/memory/gaps.h"
#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// PyTorch's figures, by PyTorch's names for them.
constexpr std::size_t kMaxSmallAlloc = 1 * kMiB;
constexpr std::size_t kMinLargeAlloc = 10 * kMiB;
constexpr std::size_t kRoundLarge = 2 * kMiB;
constexpr std::size_t kSmallHeap = 8 * kMiB;
constexpr std::size_t kLargeHeap = 32 * kMiB;
constexpr std::size_t kXLargeHeap = 1024 * kMiB;
constexpr double kHighWatermarkBound = 2.0;

// Where the first heap lies, so that no buffer has the address 0; and the steps in which heaps lie. Addresses stay
// below 2^53 for as long as anybody looks at them: the viewer of snapshots keeps them as floating-point numbers.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 32;
constexpr std::size_t kAddressStep = 2 * kMiB;

// Metal's, not verified (see the header).
constexpr std::size_t kVmPage = 16384;

std::string ratio_text(const char* which, double ratio) {
  char text[64];
  std::snprintf(text, sizeof text, "invalid %s watermark ratio %g", which, ratio);
  return text;
}

}  // namespace

class Ledger::Buffer {
 public:
  std::size_t size = 0;
  Buffer* next = nullptr;  // while it is cached
  HeapRecord* heap = nullptr;
  std::size_t requested = 0;
  std::size_t offset = 0;
  std::uint64_t id = 0;
  std::uint64_t stack = 0;
  std::uint64_t freed_at = 0;  // the pool's count of requests then: its age is what was asked for since
  std::uint32_t uses = 0;
  bool in_use = false;
};

struct Ledger::HeapRecord {
  HeapRecord(std::size_t bytes, bool splits, std::uint64_t number, std::uint64_t place, std::uint64_t asked_by,
             Pool& owner)
      : size(bytes),
        is_split(splits),
        id(number),
        address(place),
        stack(asked_by),
        pool(owner),
        gaps(bytes),
        available(gaps.largest(kVmPage)) {}

  const std::size_t size;
  const bool is_split;  // for several buffers, or made for one
  const std::uint64_t id;
  const std::uint64_t address;
  const std::uint64_t stack;
  Pool& pool;
  Gaps gaps;
  std::size_t available;
  std::map<std::size_t, const Buffer*> buffers;  // by offset
};

struct Ledger::Pool {
  struct LessAvailable {
    using is_transparent = void;
    bool operator()(const HeapRecord* a, const HeapRecord* b) const {
      return std::pair(a->available, a->id) < std::pair(b->available, b->id);
    }
    bool operator()(const HeapRecord* a, std::size_t size) const { return a->available < size; }
    bool operator()(std::size_t size, const HeapRecord* b) const { return size < b->available; }
  };

  explicit Pool(bool small) : is_small(small) {}

  const bool is_small;
  std::set<HeapRecord*, LessAvailable> heaps;
  FreeBuffers<Buffer, support::kBufferStep, kMaxSmallAlloc> cached;
  std::size_t cached_bytes = 0;
  std::size_t buffer_bytes = 0;
  std::size_t buffers = 0;
  std::uint64_t requests = 0;
};

struct Ledger::Request {
  std::size_t size;
  std::size_t requested;
  std::uint64_t stack;
  Pool& pool;
  bool has_memory_pressure;
  Buffer* buffer = nullptr;
};

Ledger::Ledger(const Mac& mac, double high_watermark, double low_watermark, std::uint32_t verbosity, Tell tell)
    : mac_(mac),
      verbosity_(tell ? verbosity : 0),
      tell_(std::move(tell)),
      small_(std::make_unique<Pool>(true)),
      large_(std::make_unique<Pool>(false)),
      next_address_(kFirstAddress) {
  set_high_watermark(high_watermark);
  set_low_watermark(low_watermark);
  if ((verbosity_ & kProfiling) != 0) {
    tell_("Initializing heap allocator on unified device memory of size " + format_bytes(mac_.working_set));
  }
}

Ledger::~Ledger() {
  for (Pool* pool : {small_.get(), large_.get()}) {
    release_all(*pool);
    // Garbage collection and splitting leave heaps behind that hold nothing.
    for (HeapRecord* heap : pool->heaps) delete heap;
  }
}

std::size_t Ledger::limit_for(double ratio, const char* which) const {
  const std::size_t limit =
      ratio == 0.0 ? kUnlimited : static_cast<std::size_t>(ratio * static_cast<double>(mac_.working_set));
  if ((verbosity_ & kProfiling) != 0) {
    tell_(std::string(which) +
          " watermark memory allocation limit: " + (ratio == 0.0 ? "unlimited" : format_bytes(limit)));
  }
  return limit;
}

void Ledger::set_high_watermark(double ratio) {
  if (!(ratio >= 0.0 && ratio <= kHighWatermarkBound)) throw std::invalid_argument(ratio_text("high", ratio));
  std::lock_guard lock(mutex_);
  high_ratio_ = ratio;
  high_limit_.store(limit_for(ratio, "High"), std::memory_order_relaxed);
}

void Ledger::set_low_watermark(double ratio) {
  std::lock_guard lock(mutex_);
  const double bound = high_ratio_ == 0.0 ? kHighWatermarkBound : high_ratio_;
  if (!(ratio >= 0.0 && ratio <= bound)) throw std::invalid_argument(ratio_text("low", ratio));
  low_ratio_ = ratio;
  low_limit_.store(limit_for(ratio, "Low"), std::memory_order_relaxed);
}

void Ledger::publish() {
  allocated_now_.store(static_cast<std::size_t>(allocated_.current), std::memory_order_relaxed);
  reserved_now_.store(static_cast<std::size_t>(reserved_.current), std::memory_order_relaxed);
}

bool Ledger::tells(std::uint32_t what, const Pool& pool) const {
  return (verbosity_ & what) != 0 && ((verbosity_ & kLargeOnly) == 0 || !pool.is_small);
}

// How many MiB are left to the low watermark.
std::size_t Ledger::low_watermark_value() const {
  if (low_ratio_ == 0.0) return kUnlimited;
  const std::size_t limit = low_limit();
  const auto reserved = reserved_bytes();
  return limit > reserved ? (limit - reserved) / kMiB : 0;
}

Ledger::Buffer* Ledger::allocate(std::size_t bytes, std::uint64_t stack) {
  if (bytes >= mac_.max_buffer) throw InvalidBufferSize("Invalid buffer size: " + format_bytes(bytes));
  const std::size_t size = support::round_up(bytes, support::kBufferStep);
  std::lock_guard lock(mutex_);
  Pool& pool = size <= kMaxSmallAlloc ? *small_ : *large_;
  Request request{.size = size,
                  .requested = bytes,
                  .stack = stack,
                  .pool = pool,
                  .has_memory_pressure = !pool.is_small && low_watermark_value() == 0};
  if (!take_cached(request)) {
    if (request.has_memory_pressure && size < pool.cached_bytes) collect_garbage(request);
    const bool made = make_buffer(request) || take_cached(request) || (release_enough(request) && make_buffer(request));
    if (!made) {
      release_both();
      if (!make_buffer(request)) throw OutOfMemory(out_of_memory_text_locked(size));
    }
  }
  Buffer* buffer = request.buffer;
  ++buffer->uses;
  buffer->in_use = true;
  buffer->stack = stack;
  allocated_.increase(buffer->size);
  publish();
  note(trace::TraceKind::kAlloc, buffer->heap->address + buffer->offset, bytes, stack);
  return buffer;
}

bool Ledger::take_cached(Request& request) {
  // As there: near the limit even what is cached is not handed out, so that the retries below release it first.
  const std::size_t limit = high_limit();
  if (limit != kUnlimited && reserved_bytes() + request.size > limit) return false;
  Pool& pool = request.pool;
  if (low_ratio_ > 0.0 && !pool.is_small) ++pool.requests;
  Buffer* found = pool.cached.best_fit(request.size);
  if (found == nullptr) return false;
  if (found->size > request.size + kLargeHeap) {
    // Much too large: room in a heap goes before it; where there is none, it makes room itself.
    if (pool.heaps.lower_bound(request.size) == pool.heaps.end()) {
      pool.cached.pop(found);
      release(found, /*with_empty_heap=*/false);
      request.has_memory_pressure = false;
    }
    return false;
  }
  pool.cached.pop(found);
  pool.cached_bytes -= found->size;
  found->requested = request.requested;
  request.buffer = found;
  if (tells(kRecycles, pool)) {
    tell_("Reusing shared buffer #" + std::to_string(found->id) + " of size " + format_bytes(found->size) +
          " (requested: " + format_bytes(found->requested) + ", use#: " + std::to_string(found->uses + 1) +
          ", retain#: 1)");
  }
  return true;
}

Ledger::HeapRecord& Ledger::heap_for(Request& request) {
  Pool& pool = request.pool;
  const auto found = pool.heaps.lower_bound(request.size);
  if (found != pool.heaps.end()) {
    HeapRecord& heap = **found;
    pool.heaps.erase(found);
    return heap;
  }
  std::size_t size = 0;
  bool is_split = true;
  if (request.size <= kMaxSmallAlloc) {
    size = kSmallHeap;
  } else if (request.size < kMinLargeAlloc) {
    size = kLargeHeap;
  } else if (request.size < kXLargeHeap / 2 && !request.has_memory_pressure) {
    size = kXLargeHeap;
  } else {
    size = support::round_up(request.size, kRoundLarge);
    is_split = false;
  }
  auto* heap = new HeapRecord(size, is_split, ++heap_counter_, next_address_, request.stack, pool);
  next_address_ += support::round_up(size, kAddressStep);
  reserved_.increase(size);
  publish();
  note(trace::TraceKind::kHeapAlloc, heap->address, size, request.stack);
  if ((verbosity_ & kAllocations) != 0) {
    tell_("Allocated shared heap #" + std::to_string(heap->id) + " of size " + format_bytes(size) + " (#heaps: " +
          std::to_string(pool.heaps.size() + 1) + ", current allocated: " + format_bytes(reserved_bytes()) + ")");
  }
  return *heap;
}

bool Ledger::make_buffer(Request& request) {
  const std::size_t limit = high_limit();
  // The limit is held against the buffer, not against the heap that is made for it.
  if (limit != kUnlimited && reserved_bytes() + request.size > limit) return false;
  HeapRecord& heap = heap_for(request);
  Pool& pool = request.pool;
  auto* buffer = new Buffer;
  buffer->size = request.size;
  buffer->requested = request.requested;
  buffer->heap = &heap;
  buffer->offset = heap.gaps.take(request.size).value();
  buffer->id = ++buffer_counter_;
  heap.buffers.emplace(buffer->offset, buffer);
  heap.available = heap.gaps.largest(kVmPage);
  pool.heaps.insert(&heap);
  pool.buffer_bytes += request.size;
  ++pool.buffers;
  request.buffer = buffer;
  if (tells(kAllocations, pool)) {
    tell_("Allocated shared buffer #" + std::to_string(buffer->id) + " of size " + format_bytes(request.size) +
          " from heap #" + std::to_string(heap.id) + " (requested: " + format_bytes(request.requested) +
          ", heap: " + format_bytes(heap.available) + ", total: " + format_bytes(reserved_bytes()) + ")");
  }
  return true;
}

void Ledger::free(Buffer* buffer) noexcept {
  std::lock_guard lock(mutex_);
  Pool& pool = buffer->heap->pool;
  allocated_.decrease(buffer->size);
  publish();
  note(trace::TraceKind::kFree, buffer->heap->address + buffer->offset, buffer->requested, buffer->stack);
  buffer->in_use = false;
  buffer->freed_at = pool.requests;
  pool.cached.push(buffer);
  pool.cached_bytes += buffer->size;
}

// The buffer is out of the cache's lists already.
void Ledger::release(Buffer* buffer, bool with_empty_heap) {
  HeapRecord* heap = buffer->heap;
  Pool& pool = heap->pool;
  pool.cached_bytes -= buffer->size;
  pool.buffer_bytes -= buffer->size;
  --pool.buffers;
  pool.heaps.erase(heap);
  heap->gaps.give(buffer->offset, buffer->size);
  heap->available = heap->gaps.largest(kVmPage);
  heap->buffers.erase(buffer->offset);
  if (tells(kReleases, pool)) {
    tell_("Released buffer #" + std::to_string(buffer->id) + " of size " + format_bytes(buffer->size) + " from heap #" +
          std::to_string(heap->id) + " (heap size: " + format_bytes(heap->available) +
          ", use#: " + std::to_string(buffer->uses) +
          ", retain#: 1, gc#: " + std::to_string(pool.requests - buffer->freed_at) + ")");
  }
  delete buffer;
  if (!with_empty_heap || !heap->buffers.empty()) {
    pool.heaps.insert(heap);
    return;
  }
  reserved_.decrease(heap->size);
  publish();
  note(trace::TraceKind::kHeapFree, heap->address, heap->size);
  if ((verbosity_ & kReleases) != 0) {
    tell_("Released heap #" + std::to_string(heap->id) + " of size " + format_bytes(heap->size) +
          " (current allocated: " + format_bytes(reserved_bytes()) + ", retain#: 1)");
  }
  delete heap;
}

void Ledger::release_all(Pool& pool) {
  if (pool.cached.empty()) return;
  if ((verbosity_ & kReleases) != 0) {
    tell_("Releasing " + std::to_string(pool.cached.count()) + " buffers from " +
          (pool.is_small ? "small " : "large ") + "shared pool (total size: " + format_bytes(pool.buffer_bytes) +
          ", #buffers: " + std::to_string(pool.buffers) + ")");
  }
  while (Buffer* buffer = pool.cached.best_fit(0)) {
    pool.cached.pop(buffer);
    release(buffer, /*with_empty_heap=*/true);
  }
}

// Releases the cached buffer that fits, or the largest ones until they add up to the request.
bool Ledger::release_enough(Request& request) {
  auto& cached = request.pool.cached;
  if (cached.empty()) return false;
  if (Buffer* fitting = cached.best_fit(request.size)) {
    cached.pop(fitting);
    release(fitting, /*with_empty_heap=*/true);
    return true;
  }
  std::size_t released = 0;
  while (released < request.size) {
    Buffer* largest = cached.largest();
    if (largest == nullptr) return false;
    released += largest->size;
    cached.pop(largest);
    release(largest, /*with_empty_heap=*/true);
  }
  return true;
}

// Frees what was not asked for in longer than average, until the low watermark is kept or nothing is old enough.
void Ledger::collect_garbage(Request& request) {
  const auto reserved = reserved_bytes();
  const std::size_t limit = low_limit();
  if (reserved < limit) return;
  const std::size_t target = reserved - limit;
  Pool& pool = request.pool;
  double total_age = 0;
  std::size_t count = 0;
  pool.cached.each([&](const Buffer& buffer) {
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
        [&](const Buffer& buffer) {
          return reclaimed < target && static_cast<double>(pool.requests - buffer.freed_at) >= threshold;
        },
        [&](Buffer* buffer) {
          found = true;
          reclaimed += buffer->size;
          total_age -= static_cast<double>(pool.requests - buffer->freed_at);
          --count;
          ++freed;
          release(buffer, /*with_empty_heap=*/!buffer->heap->is_split);
        });
  }
  if ((verbosity_ & kReleases) != 0 && freed + count > 0) {
    tell_("Garbage collected " + std::to_string(freed) + " buffers from large shared pool (total reclaimed: " +
          format_bytes(reclaimed) + ", #buffers: " + std::to_string(pool.cached.count()) + ")");
  }
}

void Ledger::release_both() {
  if (verbosity_ >= kProfiling) {
    tell_("Attempting to release cached buffers (MPS allocated: " + format_bytes(reserved_bytes()) +
          ", other allocations: 0 bytes)");
  }
  release_all(*large_);
  release_all(*small_);
}

void Ledger::release_cached() {
  std::lock_guard lock(mutex_);
  release_both();
}

std::string Ledger::out_of_memory_text(std::size_t bytes) const {
  std::lock_guard lock(mutex_);
  return out_of_memory_text_locked(support::round_up(bytes, support::kBufferStep));
}

std::string Ledger::out_of_memory_text_locked(std::size_t size) const {
  std::string text =
      "MPS backend out of memory (MPS allocated: " + format_bytes(reserved_bytes()) + ", other allocations: 0 bytes";
  if (high_ratio_ > 0.0) text += ", max allowed: " + format_bytes(high_limit());
  text += "). Tried to allocate " + format_bytes(size) + " on shared pool.";
  if (high_ratio_ > 0.0) {
    text +=
        " Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system "
        "failure).";
  }
  return text;
}

ByteCount Ledger::allocated() const {
  std::lock_guard lock(mutex_);
  return allocated_;
}

ByteCount Ledger::reserved() const {
  std::lock_guard lock(mutex_);
  return reserved_;
}

void Ledger::reset_peak() {
  std::lock_guard lock(mutex_);
  allocated_.reset_peak();
  reserved_.reset_peak();
}

void Ledger::reset_accumulated() {
  std::lock_guard lock(mutex_);
  allocated_.reset_accumulated();
  reserved_.reset_accumulated();
}

Ledger::Placement Ledger::placement(const Buffer& buffer) {
  return {buffer.size,         buffer.heap->id, buffer.heap->size, buffer.offset, buffer.heap->pool.is_small,
          buffer.heap->address};
}

void Ledger::record_events(bool on) {
  std::lock_guard lock(mutex_);
  recording_ = on;
  if (on) events_ = 0;
}

// Under the lock, so that the trace has the changes in their order.
void Ledger::note(trace::TraceKind kind, std::uint64_t address, std::size_t bytes, std::uint64_t stack) noexcept {
  if (!recording_) return;
  if (trace::Trace* trace = trace::Trace::current()) {
    trace->record(kind, 0, 0, address, bytes, stack);
    ++events_;
  }
}

Ledger::Books Ledger::books() const {
  std::lock_guard lock(mutex_);
  const trace::Trace* trace = trace::Trace::current();
  Books books{.heaps = {}, .events = events_, .trace_end = trace != nullptr ? trace->written() : 0};
  for (const Pool* pool : {small_.get(), large_.get()}) {
    for (const HeapRecord* heap : pool->heaps) {
      Books::Segment& segment =
          books.heaps.emplace_back(Books::Segment{heap->address, heap->size, heap->stack, pool->is_small, {}});
      segment.buffers.reserve(heap->buffers.size());
      for (const auto& [offset, buffer] : heap->buffers) {
        segment.buffers.push_back({offset, buffer->size, buffer->in_use ? buffer->requested : 0,
                                   buffer->in_use ? buffer->stack : 0, buffer->in_use});
      }
    }
  }
  std::ranges::sort(books.heaps, {}, &Books::Segment::address);
  return books;
}

std::size_t Ledger::cached_buffers() const {
  std::lock_guard lock(mutex_);
  return small_->cached.count() + large_->cached.count();
}

std::size_t Ledger::heaps() const {
  std::lock_guard lock(mutex_);
  return small_->heaps.size() + large_->heaps.size();
}

}  // namespace anymps::gpu::memory
