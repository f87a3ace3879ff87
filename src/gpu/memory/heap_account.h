// HeapAccount: the heaps of the simulated Mac as one sum: what they hold, what they may hold, and who is told of it.
// The pools of both kinds of heaps keep theirs here. Not synchronised, except where it says so.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include "gpu/memory/byte_count.h"
#include "gpu/memory/ledger_records.h"
#include "gpu/trace/trace.h"

namespace anymps::gpu::memory {

class HeapAccount {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  // What PYTORCH_DEBUG_MPS_ALLOCATOR asks to be told.
  enum Verbosity : std::uint32_t {
    kProfiling = 1U << 0,
    kAllocations = 1U << 1,
    kRecycles = 1U << 2,
    kReleases = 1U << 3,
    kLargeOnly = 1U << 4,
  };
  using Tell = std::function<void(const std::string& line)>;

  HeapAccount(std::size_t working_set, std::uint32_t verbosity, Tell tell);

  // Throws std::invalid_argument for a ratio that PyTorch refuses.
  void set_high_watermark(double ratio);
  void set_low_watermark(double ratio);
  bool has_high_watermark() const { return high_ratio_ > 0.0; }
  bool has_low_watermark() const { return low_ratio_ > 0.0; }
  // From any thread.
  std::size_t high_limit() const { return high_limit_.load(std::memory_order_relaxed); }
  std::size_t low_limit() const { return low_limit_.load(std::memory_order_relaxed); }
  // In heaps, from any thread: the driver's figure.
  std::size_t reserved_bytes() const { return reserved_now_.load(std::memory_order_relaxed); }

  // Whether so many bytes more would be beyond the high watermark. They are held against the heaps, whatever room the
  // heaps have.
  bool is_beyond_limit(std::size_t bytes) const;
  // The low watermark is reached, to the MiB.
  bool has_pressure() const;
  // How much too much the heaps hold.
  std::size_t above_low_limit() const;

  // A heap of so many bytes for a request of `stack`, the latest of a pool with so many.
  LedgerHeap add_heap(std::size_t size, std::uint64_t stack, bool small_pool, std::size_t heaps_of_pool);
  void remove_heap(const LedgerHeap& heap);
  std::uint64_t next_buffer_number() { return ++buffer_counter_; }

  const ByteCount& reserved() const { return reserved_; }
  void reset_peak() { reserved_.reset_peak(); }
  void reset_accumulated() { reserved_.reset_accumulated(); }

  bool tells(std::uint32_t what) const { return (verbosity_ & what) != 0; }
  // The same of what happens in a pool.
  bool tells(std::uint32_t what, bool small_pool) const { return tells(what) && (!tells(kLargeOnly) || !small_pool); }
  void tell(const std::string& line) const { tell_(line); }
  // That all that is cached is about to be released.
  void tell_of_release() const;

  // Events go to the trace of the process, where it keeps one.
  void record_events(bool on);
  std::uint64_t events() const { return events_; }
  void note(trace::TraceKind kind, std::uint64_t address, std::size_t bytes, std::uint64_t stack = 0) noexcept;

 private:
  std::size_t limit_for(double ratio, const char* which) const;
  // After each change of the count, for those who ask without the lock.
  void publish() { reserved_now_.store(static_cast<std::size_t>(reserved_.current), std::memory_order_relaxed); }

  const std::size_t working_set_;
  const std::uint32_t verbosity_;
  const Tell tell_;
  ByteCount reserved_;
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
