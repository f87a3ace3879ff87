// UnifiedMemory: the device's memory as a program meets it. Each buffer of a tensor stands in the Mac's books
// (ledger.h) and has its bytes in this machine's heap (heap.h); temporaries of CPU kernels have bytes only, because a
// Mac's kernels take others.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/memory/heap.h"
#include "gpu/memory/ledger.h"

namespace anymps::gpu::memory {

class UnifiedMemory {
 public:
  // The memory of this process: of the simulated Mac, under the limits that the environment sets. It is never
  // destroyed: tensors may outlive every static object. Throws std::invalid_argument for limits that PyTorch refuses,
  // at each call until they are mended.
  static UnifiedMemory& instance();
  // Where debug lines of the books go (PYTORCH_DEBUG_MPS_ALLOCATOR). Call it before instance().
  static void set_tell(Ledger::Tell tell);
  // Which rules the books follow. Call it before instance().
  static void set_rules(LedgerRules rules);
  // The same, if anything has asked for it yet; else nullptr.
  static UnifiedMemory* if_made() noexcept;

  // Neither is owned.
  UnifiedMemory(Ledger& ledger, Heap& heap);

  // A tensor's buffer. Throws InvalidBufferSize or OutOfMemory. `stack` is for the books (Ledger::allocate).
  void* allocate(std::size_t bytes, std::uint64_t stack = 0);
  // Memory of a kernel that runs. Throws OutOfMemory where this machine has no more.
  void* allocate_temporary(std::size_t bytes);
  // Makes a temporary a tensor's buffer; calling it again changes nothing. Throws as allocate() does, and leaves it a
  // temporary then.
  void adopt(void* block, std::uint64_t stack = 0);
  // What the books have of a block; nullptr for a temporary.
  static const Ledger::Buffer* entry(void* block) noexcept {
    return static_cast<const Ledger::Buffer*>(Heap::tag(block));
  }
  void free(void* block) noexcept { heap_.free(block); }

  void empty_cache();

  Ledger& ledger() const noexcept { return ledger_; }
  Heap& heap() const noexcept { return heap_; }
  void reset_peak();

 private:
  void* take(std::size_t bytes);

  Ledger& ledger_;
  Heap& heap_;
};

}  // namespace anymps::gpu::memory
