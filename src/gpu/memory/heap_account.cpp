#include "gpu/memory/heap_account.h"

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "gpu/support/round_up.h"

namespace anymps::gpu::memory {
namespace {

// PyTorch's figure.
constexpr double kHighWatermarkBound = 2.0;

// Where the first heap lies, so that no buffer has the address 0; and the steps in which heaps lie. Addresses stay
// below 2^53 for as long as anybody looks at them: the viewer of snapshots keeps them as floating-point numbers.
constexpr std::uint64_t kFirstAddress = std::uint64_t{1} << 32;
constexpr std::size_t kAddressStep = std::size_t{2} << 20;

std::string ratio_text(const char* which, double ratio) {
  char text[64];
  std::snprintf(text, sizeof text, "invalid %s watermark ratio %g", which, ratio);
  return text;
}

}  // namespace

HeapAccount::HeapAccount(std::size_t working_set, std::uint32_t verbosity, Tell tell)
    : working_set_(working_set),
      verbosity_(tell ? verbosity : 0),
      tell_(std::move(tell)),
      next_address_(kFirstAddress) {}

std::size_t HeapAccount::limit_for(double ratio, const char* which) const {
  const std::size_t limit =
      ratio == 0.0 ? kUnlimited : static_cast<std::size_t>(ratio * static_cast<double>(working_set_));
  if (tells(kProfiling)) {
    tell_(std::string(which) +
          " watermark memory allocation limit: " + (ratio == 0.0 ? "unlimited" : format_bytes(limit)));
  }
  return limit;
}

void HeapAccount::set_high_watermark(double ratio) {
  if (!(ratio >= 0.0 && ratio <= kHighWatermarkBound)) throw std::invalid_argument(ratio_text("high", ratio));
  high_ratio_ = ratio;
  high_limit_.store(limit_for(ratio, "High"), std::memory_order_relaxed);
}

void HeapAccount::set_low_watermark(double ratio) {
  const double bound = high_ratio_ == 0.0 ? kHighWatermarkBound : high_ratio_;
  if (!(ratio >= 0.0 && ratio <= bound)) throw std::invalid_argument(ratio_text("low", ratio));
  low_ratio_ = ratio;
  low_limit_.store(limit_for(ratio, "Low"), std::memory_order_relaxed);
}

bool HeapAccount::is_beyond_limit(std::size_t bytes) const {
  const std::size_t limit = high_limit();
  return limit != kUnlimited && reserved_bytes() + bytes > limit;
}

bool HeapAccount::has_pressure() const {
  if (low_ratio_ == 0.0) return false;
  const std::size_t limit = low_limit();
  const std::size_t reserved = reserved_bytes();
  return reserved >= limit || limit - reserved < std::size_t{1} << 20;
}

std::size_t HeapAccount::above_low_limit() const {
  const std::size_t limit = low_limit();
  const std::size_t reserved = reserved_bytes();
  return reserved > limit ? reserved - limit : 0;
}

LedgerHeap HeapAccount::add_heap(std::size_t size, std::uint64_t stack, bool small_pool, std::size_t heaps_of_pool) {
  const LedgerHeap heap{
      .size = size, .id = ++heap_counter_, .address = next_address_, .stack = stack, .small_pool = small_pool};
  next_address_ += support::round_up(size, kAddressStep);
  reserved_.increase(size);
  publish();
  note(trace::TraceKind::kHeapAlloc, heap.address, size, stack);
  if (tells(kAllocations)) {
    tell_("Allocated shared heap #" + std::to_string(heap.id) + " of size " + format_bytes(size) + " (#heaps: " +
          std::to_string(heaps_of_pool) + ", current allocated: " + format_bytes(reserved_bytes()) + ")");
  }
  return heap;
}

void HeapAccount::remove_heap(const LedgerHeap& heap) {
  reserved_.decrease(heap.size);
  publish();
  note(trace::TraceKind::kHeapFree, heap.address, heap.size);
  if (tells(kReleases)) {
    tell_("Released heap #" + std::to_string(heap.id) + " of size " + format_bytes(heap.size) +
          " (current allocated: " + format_bytes(reserved_bytes()) + ", retain#: 1)");
  }
}

void HeapAccount::tell_of_release() const {
  if (verbosity_ == 0) return;
  tell_("Attempting to release cached buffers (MPS allocated: " + format_bytes(reserved_bytes()) +
        ", other allocations: 0 bytes)");
}

void HeapAccount::record_events(bool on) {
  recording_ = on;
  if (on) events_ = 0;
}

void HeapAccount::note(trace::TraceKind kind, std::uint64_t address, std::size_t bytes, std::uint64_t stack) noexcept {
  if (!recording_) return;
  if (trace::Trace* trace = trace::Trace::current()) {
    trace->record(kind, 0, 0, address, bytes, stack);
    ++events_;
  }
}

}  // namespace anymps::gpu::memory
