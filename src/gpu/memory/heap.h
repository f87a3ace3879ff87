// Heap: where the bytes of the device's buffers lie.
//
// One address range is reserved for the whole heap, so "is this pointer ours?" is a comparison and one deleter can
// serve our blocks and malloc's. A header lies before each block, so the pointer alone is enough to free it. Freed
// blocks are kept by size class; release_cached() gives their pages back to the system. Pages are promised only as far
// as this machine can back them. What a Mac would make of all this is ledger.h's concern.
//
// All functions may be called from any thread; a block may be freed by another thread than the one that took it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace anymps::gpu::memory {

class Heap {
 public:
  // Every block starts on this boundary, as PyTorch's CPU kernels expect of their own allocator.
  static constexpr std::size_t kAlignment = 64;

  struct Usage {
    std::size_t live = 0;       // bytes of blocks that are handed out, each counted in steps of 256
    std::size_t committed = 0;  // bytes taken from the system: handed out and cached, rounding included
    std::size_t live_peak = 0;  // highest value of each since the last reset_peak()
    std::size_t committed_peak = 0;
    std::uint64_t allocations = 0;  // counts since the start of the process
    std::uint64_t frees = 0;
  };

  // How many bytes the machine has left now.
  using Available = std::function<std::size_t()>;

  explicit Heap(std::size_t reserve_bytes, Available available);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // A block of at least `bytes`, contents undefined; nullptr when the range or the machine has no more. bytes > 0.
  void* allocate(std::size_t bytes) noexcept;

  // The owner lets go. The block can be handed out again once nothing holds it any more.
  void free(void* block) noexcept;
  // A queued command that uses the block, whether its owner lives or not. Call hold() while the block is alive.
  void hold(void* block) noexcept;
  void let_go(void* block) noexcept;
  // How many hold it: its owner, while it has one, and commands.
  static unsigned holders(void* block) noexcept;
  // Whether a command holds a block that its owner has. Where none does, what commands did with it has been done.
  static bool is_held(void* block) noexcept;

  bool contains(const void* pointer) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - base_) < reserved_;
  }

  // A word of the owner's own, nullptr at first. If it is set, `on_free(context, tag)` is called when the owner lets
  // go, before the block can be handed out again.
  static void*& tag(void* block) noexcept;
  using OnFree = void (*)(void* context, void* tag) noexcept;
  void set_on_free(OnFree on_free, void* context) noexcept {
    on_free_ = on_free;
    on_free_context_ = context;
  }
  static std::size_t requested(void* block) noexcept;

  // Gives the pages of all cached blocks back to the system.
  void release_cached() noexcept;

  // Around fork(), so that no thread is amid a change that a child would inherit: see Ledger.
  void lock_all() noexcept;
  void unlock_all() noexcept;

  Usage usage() const noexcept;
  std::size_t live_bytes() const noexcept { return live_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept;

 private:
  struct Header;
  struct SizeClass;

  static Header* header_of(void* block) noexcept;
  Header* take_from_range(std::size_t class_index) noexcept;
  // `frees` of its owner's that nobody has counted yet: none or one.
  void drop(Header* header, unsigned frees) noexcept;
  bool back(std::size_t bytes) noexcept;
  std::size_t resident_bytes() const noexcept;
  static std::size_t class_of(std::size_t block_bytes) noexcept;
  static std::size_t bytes_of(std::size_t class_index) noexcept;

  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::atomic<std::size_t> next_{0};  // first byte of the range that was never handed out
  std::unique_ptr<SizeClass[]> classes_;
  OnFree on_free_ = nullptr;
  void* on_free_context_ = nullptr;

  // On a line of their own: other threads write to them.
  alignas(kAlignment) std::atomic<std::size_t> live_{0};
  std::atomic<std::size_t> committed_{0};
  std::atomic<std::size_t> live_peak_{0};
  std::atomic<std::size_t> committed_peak_{0};

  alignas(kAlignment) const Available available_;
  std::mutex backing_mutex_;
  std::atomic<std::int64_t> budget_{0};  // bytes that may be promised before the machine is asked again
};

}  // namespace anymps::gpu::memory
