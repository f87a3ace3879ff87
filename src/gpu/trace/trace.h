// The trace: what a process of a run did on the device, kept where its death cannot take it away.
//
// When ANYMPS_RUN names a folder, each process maps one file there and writes into the mapping; the pages belong to the
// kernel, so they outlive SIGKILL. Without, a profiler may ask for a trace in memory. The ring is bounded: what is
// older than it holds is lost, and counted. Every thread writes at once and none waits: a string is published by one
// compare-and-swap, a tally is a row of atomic counters, a record takes its place in the ring by one addition.
// The layout is in trace_format.h and docs/trace.md; lab/trace_reader reads it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>

namespace anymps::gpu::trace {

// What happened. In each record `b` is the measured quantity, which the tallies add up; the other numbers are as
// listed.
enum class TraceKind : std::uint32_t {
  // c of these two: bytes in tensors then.
  kStep = 1,  // name: optimiser class, or "step" when the script said so; a: index from 0; b: ns since the previous one
  kEpoch,     // a: index from 0; b: ns since the previous one
  kFallback,  // name: operator; site: the line that called it; b: bytes that go to the CPU
  kSync,      // name: "item", "synchronize", "copy to cpu"; b: ns waited, where known
  kFloat64,   // name: operator, or the door that refused
  kMemoryPeak,   // a: bytes in tensors; b: bytes held from the driver
  kOutOfMemory,  // a: bytes asked for; b: bytes in tensors then; c: stack
  kMark,         // name: the text of a mark
  kError,        // name: the text of an error
  // In detail alone. The time of a span is that of its end, and b its length in ns; c: who asked for it, a number of
  // the profiler's, or 0.
  kOperator,  // name: operator; a CPU kernel ran for it on the device's memory
  kShader,    // name: Metal kernel; a: threads
  kCall,      // name: operator, or the label of a record_function; a: how many it lies in; b: ns on the host
  // While the memory's history is recorded, in the order of the books (ledger.h). a: address; b: bytes asked for; c:
  // the number of the stack that asked, in the process's own table, or 0.
  kAlloc,
  kFree,       // b and c: as kAlloc
  kHeapAlloc,  // b: bytes of the heap
  kHeapFree,   // b: as kHeapAlloc
  // While a run is checked (backend/check).
  kFinding,  // name: a rule of lab/check/rules.h, or rule, tab, what it is about; b: in the rule's unit
  kWork,     // name: "work" or "wait"; site: a line of the user's below which the device worked or was waited for
  kBufferTooLarge,  // a: bytes asked for; b: bytes that a buffer may have
};

// A record as it is read in the process that wrote it.
struct TraceEvent {
  TraceKind kind{};
  std::uint32_t thread = 0;
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  std::string_view name;
  std::string_view site;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
};

class Trace {
 public:
  // The trace of this process, or nullptr when it keeps none. Do not keep the pointer: a forked child has its own
  // trace, and gets it here. Ids from intern() stay valid across a fork.
  static Trace* current() noexcept {
    switch (state_.load(std::memory_order_acquire)) {
      case State::kOff:
      case State::kIdle:
        return nullptr;
      case State::kOn:
        return &instance_;
      default:
        return open();
    }
  }

  // The id of a text; the same text has the same id. 0 stands for no text: the empty one, or one that found the table
  // full.
  std::uint32_t intern(std::string_view text) noexcept;

  void record(TraceKind kind, std::uint32_t name, std::uint32_t site, std::uint64_t a = 0, std::uint64_t b = 0,
              std::uint64_t c = 0) noexcept;
  // Something that began then (now_ns()) and ends now: b is its length.
  void record_span(TraceKind kind, std::uint32_t name, std::uint64_t began_ns, std::uint64_t a,
                   std::uint64_t c = 0) noexcept;

  // From here until as many let_go(), the process keeps a trace; in memory where it keeps none yet. False where there
  // is no memory for that: nothing is recorded then, and let_go() is due all the same.
  static bool keep() noexcept;
  static void let_go() noexcept;

  // Whether somebody wants every operator and kernel: one load where nobody does.
  static bool detailed() noexcept { return details_.load(std::memory_order_relaxed) != 0; }
  // From here until as many end_details(), they are recorded. A trace is kept meanwhile, as by keep().
  static bool begin_details() noexcept;
  static void end_details() noexcept;

  // How many records were ever written.
  std::uint64_t written() const noexcept;
  // Calls `each` with what was written from index `first` on, before `end`, and is still there, oldest first; returns
  // how many were lost. Texts are good as long as the process.
  std::uint64_t read(std::uint64_t first, const std::function<void(const TraceEvent&)>& each,
                     std::uint64_t end = std::numeric_limits<std::uint64_t>::max()) const;

  static std::uint64_t now_ns() noexcept;

  // Keeps the largest value seen of each: in tensors; in tensors and temporaries; held from the driver. Called for
  // every allocation, so values below the maximum cost three loads.
  void note_memory(std::uint64_t allocated_bytes, std::uint64_t block_bytes, std::uint64_t driver_bytes) noexcept;

  // Keeps the largest buffer that was asked for, whether it was given or not.
  void note_buffer(std::uint64_t bytes) noexcept;

  // A fact about this process that the summary shows: "device", "torch", "limit" (bytes, as a decimal number), ...
  // The latest value of a key wins.
  void set_fact(std::string_view key, std::string_view value) noexcept;

  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  enum class State : std::uint8_t { kUnopened, kOpening, kOn, kOff, kIdle };  // idle: in memory, wanted by nobody now

  constexpr Trace() noexcept = default;

  static Trace* open() noexcept;
  bool map_file(const char* folder) noexcept;
  bool map_memory() noexcept;
  void begin(std::byte* base, std::uint64_t wall, std::uint64_t ring_count) noexcept;
  void take_over_names_and_facts(std::byte* parent) noexcept;
  void write(std::uint64_t now, TraceKind kind, std::uint32_t name, std::uint32_t site, std::uint64_t a,
             std::uint64_t b, std::uint64_t c) noexcept;
  void tally(std::uint64_t key, std::uint64_t now, std::uint64_t value) noexcept;

  // A forked child must neither write into its parent's file nor trust a State that another thread was changing.
  static void forget_after_fork() noexcept;
  static const int fork_handler_;

  static std::atomic<State> state_;
  static std::atomic<std::uint32_t> keepers_;
  static std::atomic<std::uint32_t> details_;
  static Trace instance_;

  std::atomic<std::byte*> base_{nullptr};       // the mapping of this process
  std::atomic<std::byte*> inherited_{nullptr};  // the parent's, until its strings are taken over
  std::atomic<bool> in_memory_{false};
};

}  // namespace anymps::gpu::trace
