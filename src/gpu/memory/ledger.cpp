#include "gpu/memory/ledger.h"

#include <algorithm>
#include <utility>

#include "gpu/trace/trace.h"

namespace anymps::gpu::memory {

Ledger::Ledger(const Mac& mac, double high_watermark, double low_watermark, LedgerRules rules, std::uint32_t verbosity,
               Tell tell)
    : mac_(mac),
      rules_(rules),
      account_(mac.working_set, verbosity, std::move(tell)),
      pools_(rules.heaps == HeapType::kPlacement ? make_placement_heaps(account_, mac.max_buffer)
                                                 : make_automatic_heaps(account_)) {
  set_high_watermark(high_watermark);
  set_low_watermark(low_watermark);
  if (account_.tells(HeapAccount::kProfiling)) {
    account_.tell("Initializing heap allocator on unified device memory of size " + format_bytes(mac_.working_set));
  }
}

Ledger::~Ledger() = default;

void Ledger::set_high_watermark(double ratio) {
  std::lock_guard lock(mutex_);
  account_.set_high_watermark(ratio);
}

void Ledger::set_low_watermark(double ratio) {
  std::lock_guard lock(mutex_);
  account_.set_low_watermark(ratio);
}

Ledger::Buffer* Ledger::allocate(std::size_t bytes, std::uint64_t stack, StreamId stream) {
  if (bytes >= mac_.max_buffer) throw InvalidBufferSize("Invalid buffer size: " + format_bytes(bytes));
  const std::size_t size = pools_->rounded(bytes);
  std::lock_guard lock(mutex_);
  Buffer* buffer = pools_->take({.size = size, .requested = bytes, .stack = stack, .stream = stream});
  if (buffer == nullptr) throw OutOfMemory(out_of_memory_text_locked(size));
  ++buffer->uses;
  buffer->in_use = true;
  buffer->stack = stack;
  allocated_.increase(buffer->size);
  publish();
  account_.note(trace::TraceKind::kAlloc, buffer->heap->address + buffer->offset, bytes, stack);
  return buffer;
}

void Ledger::free(Buffer* buffer) noexcept {
  std::lock_guard lock(mutex_);
  allocated_.decrease(buffer->size);
  publish();
  account_.note(trace::TraceKind::kFree, buffer->heap->address + buffer->offset, buffer->requested, buffer->stack);
  pools_->give(buffer);
}

void Ledger::release_cached() {
  std::lock_guard lock(mutex_);
  pools_->release_cached();
}

std::string Ledger::out_of_memory_text(std::size_t bytes) const {
  std::lock_guard lock(mutex_);
  return out_of_memory_text_locked(pools_->rounded(bytes));
}

std::string Ledger::out_of_memory_text_locked(std::size_t size) const {
  const bool limited = account_.has_high_watermark();
  std::string text =
      "MPS backend out of memory (MPS allocated: " + format_bytes(reserved_bytes()) + ", other allocations: 0 bytes";
  if (limited) text += ", max allowed: " + format_bytes(high_limit());
  text += "). Tried to allocate " + format_bytes(size) + " on shared pool.";
  if (limited) {
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
  return account_.reserved();
}

std::optional<ByteCount> Ledger::active() const {
  if (!rules_.tells_active_bytes) return std::nullopt;
  return allocated();
}

void Ledger::reset_peak() {
  std::lock_guard lock(mutex_);
  allocated_.reset_peak();
  account_.reset_peak();
}

void Ledger::reset_accumulated() {
  std::lock_guard lock(mutex_);
  allocated_.reset_accumulated();
  account_.reset_accumulated();
}

Ledger::Placement Ledger::placement(const Buffer& buffer) {
  return {buffer.size,   buffer.heap->id,         buffer.heap->size,
          buffer.offset, buffer.heap->small_pool, buffer.heap->address};
}

void Ledger::record_events(bool on) {
  std::lock_guard lock(mutex_);
  account_.record_events(on);
}

Ledger::Books Ledger::books() const {
  std::lock_guard lock(mutex_);
  const trace::Trace* trace = trace::Trace::current();
  Books books{.heaps = {}, .events = account_.events(), .trace_end = trace != nullptr ? trace->written() : 0};
  pools_->list(books.heaps);
  std::ranges::sort(books.heaps, {}, &Books::Segment::address);
  return books;
}

std::size_t Ledger::cached_buffers() const {
  std::lock_guard lock(mutex_);
  return pools_->cached_buffers();
}

std::size_t Ledger::heaps() const {
  std::lock_guard lock(mutex_);
  return pools_->heaps();
}

}  // namespace anymps::gpu::memory
