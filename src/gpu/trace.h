// The trace: what a process of a run did on the device, kept where its death cannot take it away.
//
// When ANYMPS_RUN names a folder, each process maps one file there and writes into the mapping; the pages belong to the
// kernel, so they outlive SIGKILL. Every thread writes at once and none waits: a string is published by one
// compare-and-swap, a tally is a row of atomic counters, a record takes its place in the ring by one addition.
// The layout is in trace_format.h and docs/trace.md; lab/trace_reader reads it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace anymps::gpu {

// What happened. In each record `b` is the measured quantity, which the tallies add up; the other numbers are as
// listed.
enum class TraceKind : std::uint32_t {
  kStep = 1,  // name: optimiser class, or "step" when the script said so; a: index from 0; b: ns since the previous one
  kEpoch,     // a: index from 0; b: ns since the previous one
  kFallback,  // name: operator; site: the line that called it
  kSync,      // name: "item", "synchronize", "copy to cpu"; b: ns waited, where known
  kFloat64,   // name: operator, or the door that refused
  kMemoryPeak,   // a: bytes in tensors; b: bytes held from the driver
  kOutOfMemory,  // a: bytes asked for; b: bytes in tensors then
  kMark,         // name: the text of a mark
  kError,        // name: the text of an error
};

class Trace {
 public:
  // The trace of this process, or nullptr when it keeps none. Do not keep the pointer: a forked child has its own
  // trace, and gets it here. Ids from intern() stay valid across a fork.
  static Trace* current() noexcept {
    switch (state_.load(std::memory_order_acquire)) {
      case State::kOff:
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

  // Keeps the largest value seen of each: in tensors; in tensors and temporaries; held from the driver. Called for
  // every allocation, so values below the maximum cost three loads.
  void note_memory(std::uint64_t allocated_bytes, std::uint64_t block_bytes, std::uint64_t driver_bytes) noexcept;

  // A fact about this process that the summary shows: "device", "torch", "limit" (bytes, as a decimal number), ...
  // The latest value of a key wins.
  void set_fact(std::string_view key, std::string_view value) noexcept;

  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

 private:
  enum class State : std::uint8_t { kUnopened, kOpening, kOn, kOff };

  constexpr Trace() noexcept = default;

  static Trace* open() noexcept;
  bool map_file(const char* folder) noexcept;
  void take_over_names_and_facts(std::byte* parent) noexcept;
  void tally(std::uint64_t key, std::uint64_t now, std::uint64_t value) noexcept;

  // A forked child must neither write into its parent's file nor trust a State that another thread was changing.
  static void forget_after_fork() noexcept;
  static const int fork_handler_;

  static std::atomic<State> state_;
  static Trace instance_;

  std::atomic<std::byte*> base_{nullptr};       // the mapping of this process
  std::atomic<std::byte*> inherited_{nullptr};  // the parent's, until its strings are taken over
};

}  // namespace anymps::gpu
