// Heap: the memory behind the device's buffers.
//
// One address range is reserved for the whole heap, so "is this pointer ours?" is a comparison and one deleter can
// serve our blocks and malloc's. A header lies before each block, so the pointer alone is enough to free it. Freed
// blocks are kept by size class; release_cached() gives their pages back to the system.
//
// All functions may be called from any thread; a block may be freed by another thread than the one that took it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace anymps::gpu {

class Heap {
 public:
  // Every block starts on this boundary, as PyTorch's CPU kernels expect of their own allocator.
  static constexpr std::size_t kAlignment = 64;

  struct Usage {
    std::size_t tensors = 0;       // bytes of blocks that tensors of the device hold
    std::size_t blocks = 0;        // bytes of all blocks handed out, temporaries of kernels included
    std::size_t committed = 0;     // bytes taken from the system: handed out and cached
    std::size_t tensors_peak = 0;  // highest value of each since the last reset_peak()
    std::size_t blocks_peak = 0;
    std::size_t committed_peak = 0;
    std::uint64_t allocations = 0;  // counts since the start of the process
    std::uint64_t frees = 0;
  };

  // The heap of this process. It is never destroyed: tensors may outlive every static object.
  static Heap& instance();

  explicit Heap(std::size_t reserve_bytes);
  ~Heap();
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // A block of at least `bytes`, contents undefined; nullptr when the range or the system has no more. bytes > 0.
  void* allocate(std::size_t bytes) noexcept;
  void free(void* block) noexcept;

  bool contains(const void* pointer) const noexcept {
    return static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - base_) < reserved_;
  }

  // Counts the block as a tensor's from now on, until it is freed. Calling it again changes nothing.
  void mark_tensor(void* block) noexcept;

  // Gives the pages of all cached blocks back to the system.
  void release_cached() noexcept;

  Usage usage() const noexcept;
  // usage().blocks alone: the check against the limit runs at every allocation.
  std::size_t blocks() const noexcept { return blocks_.load(std::memory_order_relaxed); }
  void reset_peak() noexcept;

 private:
  struct Header;
  struct SizeClass;

  Header* take_from_range(std::size_t class_index) noexcept;
  static std::size_t class_of(std::size_t block_bytes) noexcept;
  static std::size_t bytes_of(std::size_t class_index) noexcept;

  std::byte* base_ = nullptr;
  std::size_t reserved_ = 0;
  std::atomic<std::size_t> next_{0};  // first byte of the range that was never handed out
  std::unique_ptr<SizeClass[]> classes_;

  std::atomic<std::size_t> tensors_{0};
  std::atomic<std::size_t> blocks_{0};
  std::atomic<std::size_t> committed_{0};
  std::atomic<std::size_t> tensors_peak_{0};
  std::atomic<std::size_t> blocks_peak_{0};
  std::atomic<std::size_t> committed_peak_{0};
  std::atomic<std::uint64_t> allocations_{0};
  std::atomic<std::uint64_t> frees_{0};
};

}  // namespace anymps::gpu
