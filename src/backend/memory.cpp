#include "backend/memory.h"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_set>

#include "gpu/device.h"
#include "gpu/heap.h"
#include "gpu/trace.h"

namespace anymps::backend {
namespace {

constexpr double kDefaultHighWatermark = 1.7;
constexpr double kHighWatermarkBound = 2.0;
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string format_size(std::size_t bytes) {
  constexpr double kKiB = 1024.0;
  char text[64];
  const auto value = static_cast<double>(bytes);
  if (value < kKiB) {
    std::snprintf(text, sizeof text, "%zu bytes", bytes);
  } else if (value < kKiB * kKiB) {
    std::snprintf(text, sizeof text, "%.2f KiB", value / kKiB);
  } else if (value < kKiB * kKiB * kKiB) {
    std::snprintf(text, sizeof text, "%.2f MiB", value / kKiB / kKiB);
  } else {
    std::snprintf(text, sizeof text, "%.2f GiB", value / kKiB / kKiB / kKiB);
  }
  return text;
}

std::size_t limit_for(double ratio) {
  TORCH_CHECK(ratio >= 0.0 && ratio <= kHighWatermarkBound, "invalid high watermark ratio ", ratio);
  if (ratio == 0.0) return kNoLimit;
  return static_cast<std::size_t>(ratio * static_cast<double>(gpu::device_facts().recommended_working_set));
}

std::size_t limit_from_environment() {
  const char* text = std::getenv("PYTORCH_MPS_HIGH_WATERMARK_RATIO");
  return limit_for(text != nullptr ? std::strtod(text, nullptr) : kDefaultHighWatermark);
}

std::atomic<std::size_t>& limit_in_force() {
  static std::atomic<std::size_t> limit{limit_from_environment()};
  return limit;
}

[[noreturn]] void throw_out_of_memory(std::size_t bytes) {
  const gpu::Heap::Usage usage = gpu::Heap::instance().usage();
  const std::size_t limit = limit_in_force().load();
  if (auto* trace = gpu::Trace::current()) trace->record(gpu::TraceKind::kOutOfMemory, 0, 0, bytes, usage.tensors);
  const std::string head = "MPS backend out of memory (MPS allocated: " + format_size(usage.blocks) +
                           ", other allocations: " + format_size(usage.committed - usage.blocks);
  const std::string tried = "). Tried to allocate " + format_size(bytes) + " on shared pool.";
  if (limit == kNoLimit) {
    TORCH_CHECK(false, head, tried);
  }
  TORCH_CHECK(
      false, head, ", max allowed: ", format_size(limit), tried,
      " Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system "
      "failure).");
}

void* take(std::size_t bytes) {
  gpu::Heap& heap = gpu::Heap::instance();
  const std::size_t max_buffer = gpu::device_facts().max_buffer_length;
  TORCH_CHECK(bytes < max_buffer, "Invalid buffer size: ", format_size(bytes));
  const std::size_t limit = limit_in_force().load(std::memory_order_relaxed);
  // The check comes before the block is taken: two threads may both pass it and overshoot by one block, which the
  // watermark of a Mac allows too.
  if (limit != kNoLimit && heap.blocks() + bytes > limit) throw_out_of_memory(bytes);
  void* block = heap.allocate(bytes);
  if (block == nullptr) {
    heap.release_cached();
    block = heap.allocate(bytes);
    if (block == nullptr) throw_out_of_memory(bytes);
  }
  if (auto* trace = gpu::Trace::current()) {
    const gpu::Heap::Usage usage = heap.usage();
    trace->note_memory(usage.tensors, usage.blocks, usage.committed);
  }
  return block;
}

void heap_deleter(void* block) { gpu::Heap::instance().free(block); }

class MpsAllocator final : public c10::DeviceAllocator {
 public:
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { empty_cache(); }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    const gpu::Heap::Usage usage = gpu::Heap::instance().usage();
    c10::CachingDeviceAllocator::DeviceStats stats;
    auto fill = [](auto& stat, std::size_t now, std::size_t peak) {
      auto& aggregate = stat[static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
      aggregate.current = static_cast<std::int64_t>(now);
      aggregate.peak = static_cast<std::int64_t>(peak);
    };
    fill(stats.allocated_bytes, usage.tensors, usage.tensors_peak);
    fill(stats.active_bytes, usage.blocks, usage.blocks_peak);
    fill(stats.reserved_bytes, usage.committed, usage.committed_peak);
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { gpu::Heap::instance().reset_peak(); }

  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    const std::size_t total = gpu::device_facts().recommended_working_set;
    const std::size_t used = gpu::Heap::instance().usage().committed;
    return {used < total ? total - used : 0, total};
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    // A buffer of no bytes still has an address of its own on the device's heap there; a null pointer is what the
    // rest of PyTorch takes for "no data", so none is handed out.
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kMpsDevice};
    void* block = take(bytes);
    gpu::Heap::instance().mark_tensor(block);
    return {block, block, &heap_deleter, kMpsDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &heap_deleter; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }
};

class AliasAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, kCpuDevice};
    void* block = take(bytes);
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
    if (gpu::Heap::instance().contains(block)) {
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
    void* block = take(bytes);
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

struct Foreign {
  c10::DataPtr pointer;
};

}  // namespace

thread_local int RouteScope::depth_ = 0;

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

bool is_pinned(const void* pointer) {
  return gpu::Heap::instance().contains(pointer) && pinned_blocks().contains(pointer);
}

void install_cpu_router() {
  static auto* const router = new CpuRouter(c10::GetCPUAllocator());
  c10::SetCPUAllocator(router, /*priority=*/1);
}

c10::DataPtr adopt(c10::DataPtr pointer) {
  void* data = pointer.get();
  if (data == nullptr) return {nullptr, nullptr, &c10::detail::deleteNothing, kMpsDevice};
  gpu::Heap& heap = gpu::Heap::instance();
  if (heap.contains(data) && pointer.get_context() == data) {
    const c10::DeleterFnPtr deleter = pointer.get_deleter();
    heap.mark_tensor(data);
    void* context = pointer.release_context();
    return {data, context, deleter, kMpsDevice};
  }
  auto* foreign = new Foreign{std::move(pointer)};
  return {data, foreign, [](void* context) { delete static_cast<Foreign*>(context); }, kMpsDevice};
}

void set_memory_fraction(double ratio) { limit_in_force().store(limit_for(ratio)); }

std::optional<std::size_t> memory_limit() {
  const std::size_t limit = limit_in_force().load();
  return limit == kNoLimit ? std::nullopt : std::optional(limit);
}

void empty_cache() { gpu::Heap::instance().release_cached(); }

}  // namespace anymps::backend
