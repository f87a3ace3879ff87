#include "gpu/heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>

namespace anymps::gpu {
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

std::size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : std::size_t{8} << 30;
}

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
  std::uint32_t class_index;
  std::atomic<bool> holds_tensor;
  bool has_pages;  // false once release_cached() has given them back
};

struct Heap::SizeClass {
  std::mutex mutex;
  Header* cached = nullptr;
  std::byte* chunk = nullptr;  // what is left of the chunk that small blocks are carved from
  std::byte* chunk_end = nullptr;
};

Heap& Heap::instance() {
  // Sixty-four times the memory of the machine: a class keeps its addresses for good, so sizes that change from step
  // to step need room. The range costs nothing until it is touched.
  static Heap* const heap = new Heap(std::max<std::size_t>(64 * physical_memory(), std::size_t{256} << 30));
  return *heap;
}

Heap::Heap(std::size_t reserve_bytes) : classes_(std::make_unique<SizeClass[]>(kClasses)) {
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
  const std::size_t block = (bytes_of(class_index) + kAlignment - 1) / kAlignment * kAlignment;
  const bool carved = block <= kCarvedLimit;
  SizeClass& size_class = classes_[class_index];
  if (carved && static_cast<std::size_t>(size_class.chunk_end - size_class.chunk) >= block) {
    auto* header = new (size_class.chunk) Header{};
    size_class.chunk += block;
    return header;
  }
  const std::size_t want = carved ? kChunk : (block + kPage - 1) / kPage * kPage;
  const std::size_t boundary = want >= kHugePage ? kHugePage : kPage;
  std::size_t start = next_.load(std::memory_order_relaxed);
  std::size_t first = 0;
  do {
    first = (start + boundary - 1) / boundary * boundary;
    if (first > reserved_ || reserved_ - first < want) return nullptr;
  } while (!next_.compare_exchange_weak(start, first + want, std::memory_order_relaxed));
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
  const std::size_t class_bytes = bytes_of(class_index);
  SizeClass& size_class = classes_[class_index];
  Header* header = nullptr;
  {
    std::lock_guard lock(size_class.mutex);
    header = size_class.cached;
    if (header != nullptr) {
      size_class.cached = header->next;
    } else {
      header = take_from_range(class_index);
    }
  }
  if (header == nullptr) return nullptr;
  header->next = nullptr;
  header->class_index = static_cast<std::uint32_t>(class_index);
  header->holds_tensor.store(false, std::memory_order_relaxed);
  if (!header->has_pages) {
    header->has_pages = true;
    add(committed_, committed_peak_, class_bytes);
  }
  add(blocks_, blocks_peak_, class_bytes);
  allocations_.fetch_add(1, std::memory_order_relaxed);
  return reinterpret_cast<std::byte*>(header) + kHeaderBytes;
}

void Heap::free(void* block) noexcept {
  if (block == nullptr) return;
  auto* header = reinterpret_cast<Header*>(static_cast<std::byte*>(block) - kHeaderBytes);
  SizeClass& size_class = classes_[header->class_index];
  const std::size_t class_bytes = bytes_of(header->class_index);
  blocks_.fetch_sub(class_bytes, std::memory_order_relaxed);
  if (header->holds_tensor.load(std::memory_order_relaxed)) tensors_.fetch_sub(class_bytes, std::memory_order_relaxed);
  frees_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard lock(size_class.mutex);
  header->next = size_class.cached;
  size_class.cached = header;
}

void Heap::mark_tensor(void* block) noexcept {
  auto* header = reinterpret_cast<Header*>(static_cast<std::byte*>(block) - kHeaderBytes);
  if (header->holds_tensor.exchange(true, std::memory_order_relaxed)) return;
  add(tensors_, tensors_peak_, bytes_of(header->class_index));
}

void Heap::release_cached() noexcept {
  for (std::size_t class_index = 0; class_index < kClasses; ++class_index) {
    const std::size_t class_bytes = bytes_of(class_index);
    SizeClass& size_class = classes_[class_index];
    std::lock_guard lock(size_class.mutex);
    for (Header* header = size_class.cached; header != nullptr; header = header->next) {
      if (!header->has_pages) continue;
      header->has_pages = false;
      committed_.fetch_sub(class_bytes, std::memory_order_relaxed);
      // The header's own page stays: it is the link of the list. Carved blocks share pages and keep them.
      if (class_bytes <= kCarvedLimit) continue;
      std::byte* start = reinterpret_cast<std::byte*>(header) + kPage;
      madvise(start, (class_bytes - 1) / kPage * kPage, MADV_DONTNEED);
    }
  }
}

Heap::Usage Heap::usage() const noexcept {
  Usage usage;
  usage.tensors = tensors_.load(std::memory_order_relaxed);
  usage.blocks = blocks_.load(std::memory_order_relaxed);
  usage.committed = committed_.load(std::memory_order_relaxed);
  usage.tensors_peak = tensors_peak_.load(std::memory_order_relaxed);
  usage.blocks_peak = blocks_peak_.load(std::memory_order_relaxed);
  usage.committed_peak = committed_peak_.load(std::memory_order_relaxed);
  usage.allocations = allocations_.load(std::memory_order_relaxed);
  usage.frees = frees_.load(std::memory_order_relaxed);
  return usage;
}

void Heap::reset_peak() noexcept {
  tensors_peak_.store(tensors_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  blocks_peak_.store(blocks_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  committed_peak_.store(committed_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace anymps::gpu
