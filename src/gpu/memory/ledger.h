// Ledger: what PyTorch's MPS allocator would hold on the simulated Mac.
//
// It moves no bytes: it keeps the books of heaps and buffers by the rules of PyTorch 2.13's MPSAllocator (its public
// source), so that what a program sees (allocated, reserved, out of memory) is what it would see there. Where the bytes
// lie is heap.h's concern.
//
// Rules that only Metal's driver knows are stated here and NOT VERIFIED ON HARDWARE:
//   - heapBufferSizeAndAlign: sizes are rounded up to 256 bytes, and placed on that boundary;
//   - a heap places a buffer in its smallest gap that holds it;
//   - maxAvailableSizeWithAlignment: the largest gap, from its first 16 KiB boundary on;
//   - a heap can always be made: a Mac swaps before it refuses;
//   - the driver holds nothing beside the heaps.
//
// All functions may be called from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/memory/byte_count.h"
#include "gpu/trace/trace.h"

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
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  struct Mac {
    std::size_t working_set;  // MTLDevice.recommendedMaxWorkingSetSize
    std::size_t max_buffer;   // MTLDevice.maxBufferLength
  };

  // What PYTORCH_DEBUG_MPS_ALLOCATOR asks to be told.
  enum Verbosity : std::uint32_t {
    kProfiling = 1U << 0,
    kAllocations = 1U << 1,
    kRecycles = 1U << 2,
    kReleases = 1U << 3,
    kLargeOnly = 1U << 4,
  };
  using Tell = std::function<void(const std::string& line)>;

  class Buffer;

  // Throws std::invalid_argument for a ratio that PyTorch refuses.
  Ledger(const Mac& mac, double high_watermark, double low_watermark, std::uint32_t verbosity = 0, Tell tell = {});
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // A buffer for `bytes` > 0. Throws InvalidBufferSize or OutOfMemory, and has then changed nothing but the cache.
  // `stack` is a number of the caller's for where it was asked for; events and books() give it back. 0 is none.
  Buffer* allocate(std::size_t bytes, std::uint64_t stack = 0);
  void free(Buffer* buffer) noexcept;
  // torch.mps.empty_cache()
  void release_cached();

  // Around fork(): a child has the forking thread alone, and a lock that another held would stay locked for good.
  void lock_all() noexcept { mutex_.lock(); }
  void unlock_all() noexcept { mutex_.unlock(); }

  void set_high_watermark(double ratio);
  void set_low_watermark(double ratio);
  std::size_t high_limit() const { return high_limit_.load(std::memory_order_relaxed); }
  std::size_t low_limit() const { return low_limit_.load(std::memory_order_relaxed); }

  // In buffers that are in use; without a lock, for what is asked at every allocation.
  std::size_t allocated_bytes() const { return allocated_now_.load(std::memory_order_relaxed); }
  // In heaps: the driver's figure.
  std::size_t reserved_bytes() const { return reserved_now_.load(std::memory_order_relaxed); }
  ByteCount allocated() const;
  ByteCount reserved() const;
  void reset_peak();
  void reset_accumulated();

  // The text of an out-of-memory error for a request of `bytes`, as the books stand.
  std::string out_of_memory_text(std::size_t bytes) const;

  // Whether each change goes to the trace of the process, where it keeps one: kAlloc, kFree, kHeapAlloc, kHeapFree, in
  // the order of the changes. Turning it on counts from 0 again.
  void record_events(bool on);

  // All heaps and what is in them, at one moment.
  struct Books {
    struct Entry {
      std::size_t offset;
      std::size_t size;       // after rounding
      std::size_t requested;  // by who uses it; 0 where it is cached
      std::uint64_t stack;    // as allocate() was told; 0 where it is cached
      bool in_use;
    };
    struct Segment {
      std::uint64_t address;
      std::size_t size;
      std::uint64_t stack;  // of the request that it was made for
      bool small_pool;
      std::vector<Entry> buffers;  // by offset
    };
    std::vector<Segment> heaps;  // by address
    std::uint64_t events;        // recorded so far
    std::uint64_t trace_end;     // the trace's index behind the last of them
  };
  Books books() const;

  // For tests and tables.
  struct Placement {
    std::size_t size;  // after rounding
    std::uint64_t heap;
    std::size_t heap_size;
    std::size_t offset;
    bool small_pool;
    std::uint64_t address;  // of the heap: a range of its own for each, as if none were given back
  };
  static Placement placement(const Buffer& buffer);
  std::size_t cached_buffers() const;
  std::size_t heaps() const;

 private:
  struct HeapRecord;
  struct Pool;
  struct Request;

  bool take_cached(Request& request);
  bool make_buffer(Request& request);
  HeapRecord& heap_for(Request& request);
  void release(Buffer* buffer, bool with_empty_heap);
  void release_all(Pool& pool);
  void release_both();
  bool release_enough(Request& request);
  void collect_garbage(Request& request);
  std::size_t low_watermark_value() const;
  std::size_t limit_for(double ratio, const char* which) const;
  void note(trace::TraceKind kind, std::uint64_t address, std::size_t bytes, std::uint64_t stack = 0) noexcept;
  // After each change of the counts, for those who ask without the lock.
  void publish();
  std::string out_of_memory_text_locked(std::size_t size) const;
  bool tells(std::uint32_t what, const Pool& pool) const;

  const Mac mac_;
  const std::uint32_t verbosity_;
  const Tell tell_;

  mutable std::mutex mutex_;
  std::unique_ptr<Pool> small_;
  std::unique_ptr<Pool> large_;
  ByteCount allocated_;
  ByteCount reserved_;
  std::atomic<std::size_t> allocated_now_{0};
  std::atomic<std::size_t> reserved_now_{0};
  double high_ratio_ = 0;
  double low_ratio_ = 0;
  std::atomic<std::size_t> high_limit_{kUnlimited};
  std::atomic<std::size_t> low_limit_{kUnlimited};
  bool recording_ = false;
  std::uint64_t events_ = 0;
  std::uint64_t next_address_;
  std::uint64_t heap_counter_ = 0;
  std::uint64_t buffer_counter_ = 0;
};

}  // namespace anymps::gpu::memory
