// Ledger: what PyTorch's MPS allocator would hold on the simulated Mac.
//
// It moves no bytes: it keeps the books of heaps and buffers by the rules of the MPSAllocator of a release of PyTorch
// (ledger_rules.h; the facts are from its public source), so that what a program sees (allocated, reserved, out of
// memory) is what it would see there. Where the bytes lie is heap.h's concern.
//
// Rules that only Metal's driver knows are stated here and NOT VERIFIED ON HARDWARE:
//   - heapBufferSizeAndAlign: sizes are rounded up to 256 bytes, and placed on that boundary;
//   - an automatic heap places a buffer in its smallest gap that holds it;
//   - maxAvailableSizeWithAlignment: the largest gap, from its first 16 KiB boundary on;
//   - a heap can always be made: a Mac swaps before it refuses;
//   - the driver holds nothing beside the heaps.
//
// All functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "gpu/memory/buffer_pools.h"
#include "gpu/memory/byte_count.h"
#include "gpu/memory/heap_account.h"
#include "gpu/memory/ledger_records.h"
#include "gpu/memory/ledger_rules.h"
#include "gpu/stream.h"

namespace anymps::gpu::memory {

// The text is PyTorch's.
struct OutOfMemory : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct InvalidBufferSize : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class Ledger {
 public:
  static constexpr double kDefaultHighWatermark = 1.7;
  static constexpr double kDefaultLowWatermark = 1.4;
  static constexpr std::size_t kUnlimited = HeapAccount::kUnlimited;

  struct Mac {
    std::size_t working_set;  // MTLDevice.recommendedMaxWorkingSetSize
    std::size_t max_buffer;   // MTLDevice.maxBufferLength
  };

  using Tell = HeapAccount::Tell;
  using Buffer = LedgerBuffer;
  using Books = LedgerBooks;

  // `verbosity` has bits of HeapAccount::Verbosity. Throws std::invalid_argument for a ratio that PyTorch refuses.
  Ledger(const Mac& mac, double high_watermark, double low_watermark, LedgerRules rules = {},
         std::uint32_t verbosity = 0, Tell tell = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // A buffer for `bytes` > 0. Throws InvalidBufferSize or OutOfMemory, and has then changed nothing but the cache.
  // `stack` is a number of the caller's for where it was asked for; events and books() give it back. 0 is none.
  // `stream` is the one that its user works on.
  Buffer* allocate(std::size_t bytes, std::uint64_t stack = 0, StreamId stream = kDefaultStream);
  void free(Buffer* buffer) noexcept;
  // torch.mps.empty_cache()
  void release_cached();

  // Around fork(): a child has the forking thread alone, and a lock that another held would stay locked for good.
  void lock_all() noexcept { mutex_.lock(); }
  void unlock_all() noexcept { mutex_.unlock(); }

  void set_high_watermark(double ratio);
  void set_low_watermark(double ratio);
  std::size_t high_limit() const { return account_.high_limit(); }
  std::size_t low_limit() const { return account_.low_limit(); }

  // In buffers that are in use; without a lock, for what is asked at every allocation.
  std::size_t allocated_bytes() const { return allocated_now_.load(std::memory_order_relaxed); }
  // In heaps: the driver's figure.
  std::size_t reserved_bytes() const { return account_.reserved_bytes(); }
  ByteCount allocated() const;
  ByteCount reserved() const;
  // In buffers that nothing else may use yet: those in use, because work has run when it is called. Nothing where the
  // release has no such figure.
  std::optional<ByteCount> active() const;
  void reset_peak();
  void reset_accumulated();

  // The text of an out-of-memory error for a request of `bytes`, as the books stand.
  std::string out_of_memory_text(std::size_t bytes) const;

  // Whether each change goes to the trace of the process, where it keeps one: kAlloc, kFree, kHeapAlloc, kHeapFree, in
  // the order of the changes. Turning it on counts from 0 again.
  void record_events(bool on);

  // All heaps and what is in them, at one moment.
  Books books() const;

  // For tests and tables.
  struct Placement {
    std::size_t size;  // after rounding
    std::uint64_t heap;
    std::size_t heap_size;
    std::size_t offset;
    bool small_pool;
    std::uint64_t address;  // of the heap
  };
  static Placement placement(const Buffer& buffer);
  std::size_t cached_buffers() const;
  std::size_t heaps() const;

 private:
  // After each change of the count, for those who ask without the lock.
  void publish() { allocated_now_.store(static_cast<std::size_t>(allocated_.current), std::memory_order_relaxed); }
  std::string out_of_memory_text_locked(std::size_t size) const;

  const Mac mac_;
  const LedgerRules rules_;

  mutable std::mutex mutex_;
  HeapAccount account_;
  std::unique_ptr<BufferPools> pools_;
  ByteCount allocated_;
  std::atomic<std::size_t> allocated_now_{0};
};

}  // namespace anymps::gpu::memory
