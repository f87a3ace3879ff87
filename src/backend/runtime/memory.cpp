#include "backend/runtime/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <unordered_set>

#include "backend/release/release_in_force.h"
#include "backend/runtime/call_site.h"
#include "backend/runtime/device_queue.h"
#include "backend/runtime/memory_history.h"
#include "backend/runtime/mps_log.h"
#include "backend/runtime/placed_results.h"
#include "backend/runtime/streams.h"
#include "gpu/device.h"
#include "gpu/memory/unified_memory.h"
#include "gpu/stream.h"
#include "gpu/trace/trace.h"

namespace anymps::backend::runtime {
namespace {

gpu::memory::UnifiedMemory& memory() { return gpu::memory::UnifiedMemory::instance(); }

void note_peaks() {
  if (auto* trace = gpu::trace::Trace::current()) {
    trace->note_memory(memory().ledger().allocated_bytes(), memory().heap().live_bytes(),
                       memory().ledger().reserved_bytes());
  }
}

// Calls into the device's memory, with its refusals as PyTorch's errors.
template <typename Call>
auto refusing(std::size_t bytes, Call call) {
  if (auto* trace = gpu::trace::Trace::current()) trace->note_buffer(bytes);
  try {
    try {
      return call(memory());
    } catch (const gpu::memory::OutOfMemory&) {
      // The queue may hold blocks that nobody else does.
      if (DeviceQueue::is_idle()) throw;
      DeviceQueue::drain();
      return call(memory());
    }
  } catch (const gpu::memory::OutOfMemory& error) {
    if (auto* trace = gpu::trace::Trace::current()) {
      trace->record(gpu::trace::TraceKind::kOutOfMemory, 0, trace->intern(call_site()), bytes,
                    memory().ledger().allocated_bytes(), stack_of_allocation());
    }
    if (c10::memoryProfilingEnabled()) {
      const gpu::memory::Ledger& books = memory().ledger();
      c10::reportOutOfMemoryToProfiler(static_cast<std::int64_t>(bytes), books.allocated_bytes(),
                                       books.reserved_bytes(), kMpsDevice);
    }
    TORCH_CHECK(false, error.what());
  } catch (const gpu::memory::InvalidBufferSize& error) {
    if (auto* trace = gpu::trace::Trace::current()) {
      trace->record(gpu::trace::TraceKind::kBufferTooLarge, 0, trace->intern(call_site()), bytes,
                    gpu::device_facts().max_buffer_length, 0);
    }
    TORCH_CHECK(false, error.what());
  } catch (const std::invalid_argument& error) {
    TORCH_CHECK(false, error.what());
  }
}

// Tells torch.profiler, where it asks for memory, that these bytes are a tensor's now, or none's where they are
// negative. Sizes are the books', so that the profiler's totals are torch.mps's.
void report(void* data, std::int64_t bytes) {
  const gpu::memory::Ledger& books = memory().ledger();
  c10::reportMemoryUsageToProfiler(data, bytes, books.allocated_bytes(), books.reserved_bytes(), kMpsDevice);
}

std::int64_t counted_bytes(const gpu::memory::Ledger::Buffer& entry) {
  return static_cast<std::int64_t>(gpu::memory::Ledger::placement(entry).size);
}

// A buffer stands in the books from here on.
void note_taken(void* data, const gpu::memory::Ledger::Buffer& entry) {
  note_peaks();
  if (c10::memoryProfilingEnabled()) report(data, counted_bytes(entry));
  if (logs(LogLevel::kAllocations)) {
    log_allocation(static_cast<std::size_t>(counted_bytes(entry)), memory().ledger().allocated_bytes());
  }
}

void* take_tensor(std::size_t bytes) {
  const std::uint64_t stack = stack_of_allocation();
  void* block = refusing(bytes, [=](gpu::memory::UnifiedMemory& from) { return from.allocate(bytes, stack); });
  note_taken(block, *gpu::memory::UnifiedMemory::entry(block));
  return block;
}

void* take_temporary(std::size_t bytes) {
  return refusing(bytes, [bytes](gpu::memory::UnifiedMemory& from) { return from.allocate_temporary(bytes); });
}

void heap_deleter(void* block) {
  if (PlacedResults::give_back(block)) return;
  if (c10::memoryProfilingEnabled()) {
    const gpu::memory::Ledger::Buffer* entry = gpu::memory::UnifiedMemory::entry(block);
    const std::int64_t bytes = entry != nullptr ? counted_bytes(*entry) : 0;
    memory().free(block);
    if (entry != nullptr) report(block, -bytes);
    return;
  }
  memory().free(block);
}

class MpsAllocator final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return gpu::memory::UnifiedMemory::if_made() != nullptr; }
  void emptyCache(c10::MempoolId_t) override { empty_cache(); }
  // What the stream was given to do has been done: nothing has to wait.
  void recordStream(const c10::DataPtr&, c10::Stream stream) override {
    if (has_stream_pool()) known_stream(stream.id());
  }

  // As on a Mac, bytes alone are filled in, and in the aggregate alone.
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    auto fill = [](auto& stat, const gpu::memory::ByteCount& count) {
      auto& aggregate = stat[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
      aggregate.current = count.current;
      aggregate.peak = count.peak;
      aggregate.allocated = count.allocated;
      aggregate.freed = count.freed;
    };
    fill(stats.allocated_bytes, memory().ledger().allocated());
    fill(stats.reserved_bytes, memory().ledger().reserved());
    if (const auto active = memory().ledger().active()) fill(stats.active_bytes, *active);
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override { memory().ledger().reset_accumulated(); }
  void resetPeakStats(c10::DeviceIndex) override { memory().reset_peak(); }

  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    const std::size_t total = gpu::device_facts().recommended_working_set;
    const std::size_t used = memory().ledger().reserved_bytes();
    return {used < total ? total - used : 0, total};
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    // A buffer of no bytes still has an address of its own on the device's heap there; a null pointer is what the
    // rest of PyTorch takes for "no data", so none is handed out.
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kMpsDevice};
    void* block = take_tensor(bytes);
    return {block, block, &heap_deleter, kMpsDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &heap_deleter; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    DeviceQueue::drain();
    std::memcpy(destination, source, bytes);
  }
};

class AliasAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kCpuDevice};
    if (void* place = PlacedResults::claim(bytes)) return {place, place, &heap_deleter, kCpuDevice};
    void* block = RouteScope::as_tensors() ? take_tensor(bytes) : take_temporary(bytes);
    return {block, block, &heap_deleter, kCpuDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &heap_deleter; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }
};

// PyTorch's CPU kernels free temporaries through raw_deleter() of whatever allocator is in place then, so this one
// deleter must serve blocks of both kinds, whenever they were taken.
class CpuRouter final : public c10::Allocator {
 public:
  explicit CpuRouter(c10::Allocator* next) : next_(next) { next_deleter_ = next->raw_deleter(); }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (!RouteScope::active()) return next_->allocate(bytes);
    return alias_allocator()->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_any; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    next_->copy_data(destination, source, bytes);
  }

 private:
  static void free_any(void* block) {
    if (in_heap(block)) {
      heap_deleter(block);
    } else {
      next_deleter_(block);
    }
  }

  c10::Allocator* next_;
  static c10::DeleterFnPtr next_deleter_;
};
c10::DeleterFnPtr CpuRouter::next_deleter_ = nullptr;

// Which heap blocks are pinned host memory rather than device buffers. Pinning is rare, so a set does.
class PinnedBlocks {
 public:
  void add(void* block) {
    std::lock_guard lock(mutex_);
    blocks_.insert(block);
  }
  void remove(void* block) {
    std::lock_guard lock(mutex_);
    blocks_.erase(block);
  }
  bool contains(const void* block) {
    std::lock_guard lock(mutex_);
    return blocks_.contains(block);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const void*> blocks_;
};
PinnedBlocks& pinned_blocks() {
  static auto* const blocks = new PinnedBlocks;
  return *blocks;
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kCpuDevice};
    void* block = take_tensor(bytes);
    pinned_blocks().add(block);
    return {block, block, &free_pinned, kCpuDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }

 private:
  static void free_pinned(void* block) {
    pinned_blocks().remove(block);
    heap_deleter(block);
  }
};

// Memory that a kernel took from malloc on a thread of its own: it lies outside of the heap, and counts all the same.
struct Foreign {
  c10::DataPtr pointer;
  gpu::memory::Ledger::Buffer* entry;

  ~Foreign() {
    const std::int64_t bytes = counted_bytes(*entry);
    memory().ledger().free(entry);
    if (c10::memoryProfilingEnabled()) report(pointer.get(), -bytes);
  }
};

}  // namespace

thread_local int RouteScope::depth_ = 0;
thread_local bool RouteScope::as_tensors_ = false;
thread_local std::uint64_t RouteScope::began_ns_ = 0;
thread_local AskedBy RouteScope::asked_by_;
RouteObserver RouteScope::observer_;

c10::DeviceAllocator* mps_allocator() {
  static auto* const allocator = new MpsAllocator;
  return allocator;
}

c10::Allocator* alias_allocator() {
  static auto* const allocator = new AliasAllocator;
  return allocator;
}

c10::Allocator* pinned_allocator() {
  static auto* const allocator = new PinnedAllocator;
  return allocator;
}

bool in_heap(const void* pointer) {
  gpu::memory::UnifiedMemory* made = gpu::memory::UnifiedMemory::if_made();
  return made != nullptr && made->heap().contains(pointer);
}

void wait_for_commands(const c10::StorageImpl& storage) {
  const c10::DataPtr& data = storage.data_ptr();
  // Commands use blocks alone, and hold them.
  if (data.get() == nullptr || data.get() != data.get_context() || !in_heap(data.get())) return;
  if (gpu::memory::Heap::is_held(data.get())) DeviceQueue::drain();
}

bool is_pinned(const void* pointer) { return in_heap(pointer) && pinned_blocks().contains(pointer); }

void install_memory() {
  gpu::memory::UnifiedMemory::set_tell([](const std::string& line) { LOG(INFO) << line; });
  gpu::memory::UnifiedMemory::set_rules(gpu::memory::LedgerRules::of_release(release::release_in_force()));
  c10::SetAllocator(c10::DeviceType::MPS, mps_allocator());
  static auto* const router = new CpuRouter(c10::GetCPUAllocator());
  c10::SetCPUAllocator(router, /*priority=*/1);
}

c10::DataPtr adopt(c10::DataPtr pointer, std::size_t bytes) {
  void* data = pointer.get();
  if (data == nullptr) return {nullptr, nullptr, &c10::detail::deleteNothing, kMpsDevice};
  if (in_heap(data) && pointer.get_context() == data) {
    if (gpu::memory::UnifiedMemory::entry(data) == nullptr) {
      const std::uint64_t stack = stack_of_allocation();
      refusing(bytes, [=](gpu::memory::UnifiedMemory& from) { from.adopt(data, stack); });
      note_taken(data, *gpu::memory::UnifiedMemory::entry(data));
    }
    const c10::DeleterFnPtr deleter = pointer.get_deleter();
    void* context = pointer.release_context();
    return {data, context, deleter, kMpsDevice};
  }
  const std::uint64_t stack = stack_of_allocation();
  gpu::memory::Ledger::Buffer* entry = refusing(bytes, [=](gpu::memory::UnifiedMemory& from) {
    return from.ledger().allocate(std::max<std::size_t>(bytes, 1), stack, gpu::current_stream());
  });
  note_taken(data, *entry);
  auto* foreign = new Foreign{std::move(pointer), entry};
  return {data, foreign, [](void* context) { delete static_cast<Foreign*>(context); }, kMpsDevice};
}

void set_memory_fraction(double ratio) {
  refusing(0, [ratio](gpu::memory::UnifiedMemory& of) { of.ledger().set_high_watermark(ratio); });
  if (auto* trace = gpu::trace::Trace::current()) trace->set_fact("limit", std::to_string(memory_limit().value_or(0)));
}

void empty_cache() {
  if (auto* made = gpu::memory::UnifiedMemory::if_made()) made->empty_cache();
}

MemoryUse memory_use() {
  const gpu::memory::Heap::Usage heap = memory().heap().usage();
  return {.allocated = memory().ledger().allocated(),
          .reserved = memory().ledger().reserved(),
          .with_temporaries = heap.live,
          .with_temporaries_peak = heap.live_peak,
          .resident = heap.committed,
          .allocations = heap.allocations,
          .frees = heap.frees};
}

std::optional<std::size_t> memory_limit() {
  const std::size_t limit = memory().ledger().high_limit();
  return limit == gpu::memory::Ledger::kUnlimited ? std::nullopt : std::optional(limit);
}

}  // namespace anymps::backend::runtime
