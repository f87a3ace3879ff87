// When the host waits for the device: where it needs what the device makes, while the device has been given work since
// the last wait. With nothing to wait for a Mac does not wait either. `anymps run` and `anymps check` count the same.
#pragma once

#include <atomic>
#include <cstdint>

namespace anymps::backend::runtime {

class DeviceWork {
 public:
  // The device has been given work.
  static void given() noexcept {
    if (!pending_.load(std::memory_order_relaxed)) pending_.store(true, std::memory_order_relaxed);
  }
  // How long the device took for what the host waits for, or how long the host waited for it, where that is known.
  static void took(std::uint64_t ns) noexcept { ns_.fetch_add(ns, std::memory_order_relaxed); }
  // The host has waited for all of it.
  static void done() noexcept;

 private:
  friend void note_wait(const char* what);
  static std::atomic<bool> pending_;
  static std::atomic<std::uint64_t> ns_;
};

// The host waits: goes to the trace under `what`, with the time that was told of since the last wait, if there was any
// work.
void note_wait(const char* what);

// Between them all waits of this thread count as one, under this name, or with none as nothing: printing a tensor reads
// it piece by piece, and what PyTorch waits for of its own nobody can change. They nest; the outermost counts.
void begin_one_wait(const char* name);
void end_one_wait();

}  // namespace anymps::backend::runtime
