#include "gpu/memory/unified_memory.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

#include "gpu/device.h"
#include "gpu/support/machine_memory.h"

namespace anymps::gpu::memory {
namespace {

// Made at first use: the library registers itself before the other static objects of this file exist.
Ledger::Tell& process_tell() {
  static auto* const tell = new Ledger::Tell;
  return *tell;
}

constinit LedgerRules process_rules;

std::atomic<UnifiedMemory*> process_memory{nullptr};

// Guarded by its own locks: another thread may make the memory between the two handlers.
UnifiedMemory* locked_memory = nullptr;

void lock_before_fork() noexcept {
  UnifiedMemory* memory = UnifiedMemory::if_made();
  if (memory == nullptr) return;
  memory->ledger().lock_all();
  memory->heap().lock_all();
  locked_memory = memory;
}

void unlock_after_fork() noexcept {
  UnifiedMemory* memory = std::exchange(locked_memory, nullptr);
  if (memory == nullptr) return;
  memory->heap().unlock_all();
  memory->ledger().unlock_all();
}

// When the library is loaded, not with the memory: what is registered first is locked last, behind those who wait for
// threads that may allocate.
[[maybe_unused]] const int kForkHandlers = ::pthread_atfork(&lock_before_fork, &unlock_after_fork, &unlock_after_fork);

double number_from_environment(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtod(text, nullptr) : otherwise;
}

Ledger* make_ledger() {
  const DeviceFacts& facts = device_facts();
  const char* verbosity = std::getenv("PYTORCH_DEBUG_MPS_ALLOCATOR");
  return new Ledger(
      {.working_set = facts.recommended_working_set, .max_buffer = facts.max_buffer_length},
      number_from_environment("PYTORCH_MPS_HIGH_WATERMARK_RATIO", Ledger::kDefaultHighWatermark),
      number_from_environment("PYTORCH_MPS_LOW_WATERMARK_RATIO", Ledger::kDefaultLowWatermark), process_rules,
      verbosity != nullptr ? static_cast<std::uint32_t>(std::strtol(verbosity, nullptr, 0)) : 0, process_tell());
}

Heap* make_heap() {
  // Sixty-four times the memory of the machine: a class keeps its addresses for good, so sizes that change from step
  // to step need room. The range costs nothing until it is touched.
  constexpr std::size_t kLeast = std::size_t{256} << 30;
  return new Heap(std::max(64 * support::physical_memory(), kLeast), [] { return support::available_memory(); });
}

}  // namespace

UnifiedMemory& UnifiedMemory::instance() {
  static UnifiedMemory* const memory = [] {
    auto* made = new UnifiedMemory(*make_ledger(), *make_heap());
    process_memory.store(made, std::memory_order_release);
    return made;
  }();
  return *memory;
}

UnifiedMemory* UnifiedMemory::if_made() noexcept { return process_memory.load(std::memory_order_acquire); }

void UnifiedMemory::set_tell(Ledger::Tell tell) { process_tell() = std::move(tell); }

void UnifiedMemory::set_rules(LedgerRules rules) { process_rules = rules; }

UnifiedMemory::UnifiedMemory(Ledger& ledger, Heap& heap) : ledger_(ledger), heap_(heap) {
  heap_.set_on_free(
      [](void* books, void* tag) noexcept { static_cast<Ledger*>(books)->free(static_cast<Ledger::Buffer*>(tag)); },
      &ledger_);
}

void* UnifiedMemory::take(std::size_t bytes) {
  void* block = heap_.allocate(bytes);
  if (block != nullptr) return block;
  heap_.release_cached();
  block = heap_.allocate(bytes);
  if (block != nullptr) return block;
  throw OutOfMemory(ledger_.out_of_memory_text(bytes) +
                    "\nanymps: this is the limit of this machine, not of the simulated Mac: it has " +
                    format_bytes(support::available_memory()) +
                    " left (free memory, or what its control group allows).");
}

void* UnifiedMemory::allocate(std::size_t bytes, std::uint64_t stack) {
  Ledger::Buffer* entry = ledger_.allocate(bytes, stack, current_stream());
  try {
    void* block = take(bytes);
    Heap::tag(block) = entry;
    return block;
  } catch (...) {
    ledger_.free(entry);
    throw;
  }
}

void* UnifiedMemory::allocate_temporary(std::size_t bytes) { return take(bytes); }

void UnifiedMemory::adopt(void* block, std::uint64_t stack) {
  void*& tag = Heap::tag(block);
  if (tag == nullptr) tag = ledger_.allocate(Heap::requested(block), stack, current_stream());
}

void UnifiedMemory::empty_cache() {
  ledger_.release_cached();
  heap_.release_cached();
}

void UnifiedMemory::reset_peak() {
  ledger_.reset_peak();
  heap_.reset_peak();
}

}  // namespace anymps::gpu::memory
