#include "gpu/memory/heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

constexpr std::size_t kHeaderBytes = Heap::kAlignment;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPage = 4096;
// Blocks up to this size are carved from a chunk, so that a small tensor does not cost a page.
constexpr std::size_t kCarvedLimit = std::size_t{64} << 10;
constexpr std::size_t kChunk = std::size_t{256} << 10;
// Eight classes per doubling bound the rounding to an eighth.
constexpr std::size_t kStepsPerDoubling = 8;
constexpr std::size_t kSmallestExponent = 7;  // 128 bytes: header and one line of data
constexpr std::size_t kLargestExponent = 47;
constexpr std::size_t kClasses = (kLargestExponent - kSmallestExponent) * kStepsPerDoubling + 1;

// In the steps of the Mac's books, so that the two figures can be compared.
constexpr std::size_t counted(std::size_t bytes) { return support::round_up(bytes, support::kBufferStep); }

// Relaxed is enough for the counters: they are read for reports, and order nothing.
void add(std::atomic<std::size_t>& counter, std::atomic<std::size_t>& peak, std::size_t bytes) noexcept {
  const std::size_t now = counter.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t seen = peak.load(std::memory_order_relaxed);
  while (seen < now && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

}  // namespace

struct Heap::Header {
  Header* next;  // while the block is cached
  void* tag;
  std::size_t requested;
  std::uint32_t class_index;
  std::atomic<std::uint32_t> holders;  // the owner, and commands that use it
  bool has_pages;                      // false once release_cached() has given them back
};

struct Heap::SizeClass {
  mutable std::mutex mutex;
  Header* cached = nullptr;
  std::byte* chunk = nullptr;  // what is left of the chunk that small blocks are carved from
  std::byte* chunk_end = nullptr;
  std::uint64_t allocations = 0;
  // Blocks that came back since `cached` was empty. Another thread than the one that takes blocks may give them back:
  // it neither waits for that one nor writes where that one does.
  alignas(kAlignment) std::atomic<Header*> returned{nullptr};
  std::atomic<std::uint64_t> frees{0};

  void give_back(Header* header) noexcept {
    Header* first = returned.load(std::memory_order_relaxed);
    do {
      header->next = first;
    } while (!returned.compare_exchange_weak(first, header, std::memory_order_release, std::memory_order_relaxed));
  }
  // With the mutex held.
  Header* take() noexcept {
    if (cached == nullptr) cached = returned.exchange(nullptr, std::memory_order_acquire);
    Header* const header = cached;
    if (header != nullptr) cached = header->next;
    return header;
  }
};

Heap::Heap(std::size_t reserve_bytes, Available available)
    : classes_(std::make_unique<SizeClass[]>(kClasses)), available_(std::move(available)) {
  static_assert(sizeof(Header) <= kHeaderBytes);
  // Under `ulimit -v` or on kernels with small address spaces a smaller range must do.
  for (std::size_t size = reserve_bytes; size >= kHugePage; size /= 2) {
    void* range = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
      base_ = static_cast<std::byte*>(range);
      reserved_ = size;
      // Core dumps would otherwise walk the whole range.
      madvise(range, size, MADV_DONTDUMP);
      return;
    }
  }
}

Heap::~Heap() {
  if (base_ != nullptr) munmap(base_, reserved_);
}

Heap::Header* Heap::header_of(void* block) noexcept {
  return reinterpret_cast<Header*>(static_cast<std::byte*>(block) - kHeaderBytes);
}

void*& Heap::tag(void* block) noexcept { return header_of(block)->tag; }

std::size_t Heap::requested(void* block) noexcept { return header_of(block)->requested; }

// How much of the range has pages behind it. What was promised and never touched has none, and the system's own figure
// of free memory still counts it as free.
std::size_t Heap::resident_bytes() const noexcept {
  constexpr std::size_t kStretch = std::size_t{1} << 30;
  std::vector<unsigned char> pages(kStretch / kPage);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t resident = 0;
  const std::size_t used = next_.load(std::memory_order_relaxed);
  for (std::size_t offset = 0; offset < used; offset += kStretch) {
    const std::size_t length = std::min(kStretch, used - offset);
    if (mincore(base_ + offset, length, pages.data()) != 0) continue;
    const auto count = static_cast<std::ptrdiff_t>((length + page - 1) / page);
    resident += page * static_cast<std::size_t>(std::count_if(pages.begin(), pages.begin() + count,
                                                              [](unsigned char state) { return (state & 1) != 0; }));
  }
  return resident;
}

bool Heap::back(std::size_t bytes) noexcept {
  const auto want = static_cast<std::int64_t>(bytes);
  if (budget_.fetch_sub(want, std::memory_order_relaxed) >= want) return true;
  std::lock_guard lock(backing_mutex_);
  const std::size_t committed = committed_.load(std::memory_order_relaxed);
  const std::size_t promised = committed - std::min(committed, resident_bytes());
  const std::size_t available = available_();
  const auto left = static_cast<std::int64_t>(available - std::min(available, promised));
  if (left < want) {
    budget_.store(0, std::memory_order_relaxed);
    return false;
  }
  // A part of it only: other memory of this process and of others is taken meanwhile.
  budget_.store((left - want) / 4, std::memory_order_relaxed);
  return true;
}

std::size_t Heap::class_of(std::size_t block_bytes) noexcept {
  block_bytes = std::max(block_bytes, std::size_t{1} << kSmallestExponent);
  const std::size_t exponent = static_cast<std::size_t>(std::bit_width(block_bytes - 1)) - 1;
  if (exponent < kSmallestExponent) return 0;
  const std::size_t step = (std::size_t{1} << exponent) / kStepsPerDoubling;
  const std::size_t above = block_bytes - (std::size_t{1} << exponent);
  return (exponent - kSmallestExponent) * kStepsPerDoubling + (above + step - 1) / step;
}

std::size_t Heap::bytes_of(std::size_t class_index) noexcept {
  const std::size_t exponent = kSmallestExponent + class_index / kStepsPerDoubling;
  const std::size_t power = std::size_t{1} << exponent;
  return power + (class_index % kStepsPerDoubling) * (power / kStepsPerDoubling);
}

Heap::Header* Heap::take_from_range(std::size_t class_index) noexcept {
  const std::size_t block = support::round_up(bytes_of(class_index), kAlignment);
  const bool carved = block <= kCarvedLimit;
  SizeClass& size_class = classes_[class_index];
  if (carved && static_cast<std::size_t>(size_class.chunk_end - size_class.chunk) >= block) {
    auto* header = new (size_class.chunk) Header{};
    size_class.chunk += block;
    return header;
  }
  const std::size_t want = carved ? kChunk : support::round_up(block, kPage);
  const std::size_t boundary = want >= kHugePage ? kHugePage : kPage;
  std::size_t start = next_.load(std::memory_order_relaxed);
  std::size_t first = 0;
  do {
    first = support::round_up(start, boundary);
    if (first > reserved_ || reserved_ - first < want) return nullptr;
  } while (!next_.compare_exchange_weak(start, first + want, std::memory_order_relaxed));
  if (carved && !back(want)) return nullptr;
  std::byte* place = base_ + first;
  if (want >= kHugePage) madvise(place, want, MADV_HUGEPAGE);
  if (!carved) return new (place) Header{};
  size_class.chunk = place + block;
  size_class.chunk_end = place + want;
  return new (place) Header{};
}

void* Heap::allocate(std::size_t bytes) noexcept {
  if (bytes > reserved_) return nullptr;
  const std::size_t class_index = class_of(bytes + kHeaderBytes);
  if (class_index >= kClasses) return nullptr;
  SizeClass& size_class = classes_[class_index];
  Header* header = nullptr;
  {
    std::lock_guard lock(size_class.mutex);
    header = size_class.take();
    if (header == nullptr) header = take_from_range(class_index);
    if (header == nullptr) return nullptr;
    ++size_class.allocations;
  }
  header->next = nullptr;
  header->tag = nullptr;
  header->requested = bytes;
  header->class_index = static_cast<std::uint32_t>(class_index);
  header->holders.store(1, std::memory_order_relaxed);
  if (!header->has_pages) {
    const std::size_t class_bytes = bytes_of(class_index);
    // Chunks were backed as a whole.
    if (class_bytes > kCarvedLimit && !back(class_bytes)) {
      std::lock_guard lock(size_class.mutex);
      --size_class.allocations;
      size_class.give_back(header);
      return nullptr;
    }
    header->has_pages = true;
    add(committed_, committed_peak_, class_bytes);
  }
  add(live_, live_peak_, counted(bytes));
  return reinterpret_cast<std::byte*>(header) + kHeaderBytes;
}

void Heap::hold(void* block) noexcept { header_of(block)->holders.fetch_add(1, std::memory_order_relaxed); }

unsigned Heap::holders(void* block) noexcept { return header_of(block)->holders.load(std::memory_order_acquire); }

bool Heap::is_held(void* block) noexcept { return holders(block) > 1; }

void Heap::let_go(void* block) noexcept {
  Header* header = header_of(block);
  if (header->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) drop(header, 0);
}

void Heap::free(void* block) noexcept {
  if (block == nullptr) return;
  Header* header = header_of(block);
  if (on_free_ != nullptr && header->tag != nullptr) on_free_(on_free_context_, std::exchange(header->tag, nullptr));
  // Without a holder beside the owner nobody can come to be one, so the common case needs no exchange.
  if (header->holders.load(std::memory_order_acquire) == 1) {
    drop(header, 1);
  } else {
    classes_[header->class_index].frees.fetch_add(1, std::memory_order_relaxed);
    let_go(block);
  }
}

void Heap::drop(Header* header, unsigned frees) noexcept {
  live_.fetch_sub(counted(header->requested), std::memory_order_relaxed);
  SizeClass& size_class = classes_[header->class_index];
  if (frees != 0) size_class.frees.fetch_add(frees, std::memory_order_relaxed);
  size_class.give_back(header);
}

void Heap::release_cached() noexcept {
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) {
    const std::size_t class_bytes = bytes_of(class_index);
    // Carved blocks share pages and keep them.
    if (class_bytes <= kCarvedLimit) continue;
    SizeClass& size_class = classes_[class_index];
    std::lock_guard lock(size_class.mutex);
    // What comes back meanwhile is in front of them.
    Header* kept = nullptr;
    while (Header* header = size_class.take()) {
      header->next = kept;
      kept = header;
      if (!header->has_pages) continue;
      header->has_pages = false;
      committed_.fetch_sub(class_bytes, std::memory_order_relaxed);
      // The header's own page stays: it is the link of the list.
      std::byte* start = reinterpret_cast<std::byte*>(header) + kPage;
      madvise(start, (class_bytes - 1) / kPage * kPage, MADV_DONTNEED);
    }
    size_class.cached = kept;
  }
}

// A class comes before the backing, as in allocate().
void Heap::lock_all() noexcept {
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) classes_[class_index].mutex.lock();
  backing_mutex_.lock();
}

void Heap::unlock_all() noexcept {
  backing_mutex_.unlock();
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) classes_[class_index].mutex.unlock();
}

Heap::Usage Heap::usage() const noexcept {
  Usage usage;
  usage.live = live_.load(std::memory_order_relaxed);
  usage.committed = committed_.load(std::memory_order_relaxed);
  usage.live_peak = live_peak_.load(std::memory_order_relaxed);
  usage.committed_peak = committed_peak_.load(std::memory_order_relaxed);
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) {
    std::lock_guard lock(classes_[class_index].mutex);
    usage.allocations += classes_[class_index].allocations;
    usage.frees += classes_[class_index].frees.load(std::memory_order_relaxed);
  }
  return usage;
}

void Heap::reset_peak() noexcept {
  live_peak_.store(live_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  committed_peak_.store(committed_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace anymps::gpu::memory
