#include "backend/runtime/memory_history.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "gpu/memory/unified_memory.h"
#include "gpu/support/fork_generation.h"

namespace anymps::backend::runtime {
namespace {

// Stacks that are newer than this many are kept whatever becomes of their buffers: threads are between gathering one
// and handing it to the books.
constexpr std::uint64_t kLeastRecent = 1024;

std::atomic<bool> stacks_wanted{false};

class History {
 public:
  bool begin(std::size_t max_entries, bool stacks) {
    const std::lock_guard lock(mutex_);
    max_entries_ = max_entries;
    stacks_wanted.store(stacks, std::memory_order_relaxed);
    if (is_on()) return true;
    stacks_.clear();
    if (!gpu::trace::Trace::keep()) {
      stacks_wanted.store(false, std::memory_order_relaxed);
      gpu::trace::Trace::let_go();
      return false;
    }
    on_ = true;
    generation_ = gpu::support::fork_generation();
    first_ = gpu::trace::Trace::current()->written();
    books().record_events(true);
    return true;
  }

  void end() {
    const std::lock_guard lock(mutex_);
    stacks_wanted.store(false, std::memory_order_relaxed);
    stacks_.clear();
    if (!on_) return;
    on_ = false;
    books().record_events(false);
    gpu::trace::Trace::let_go();
  }

  std::uint64_t add(std::shared_ptr<torch::CapturedTraceback> stack) {
    const std::lock_guard lock(mutex_);
    if (!is_on()) return 0;
    const std::uint64_t number = ++last_number_;
    stacks_.emplace(number, std::move(stack));
    if (stacks_.size() > room_) forget_the_dead();
    return number;
  }

  MemorySnapshot snapshot() {
    const std::lock_guard lock(mutex_);
    MemorySnapshot result{.books = books().books(), .events = {}, .dropped = 0, .overwritten = 0, .stacks = {}};
    const gpu::trace::Trace* trace = gpu::trace::Trace::current();
    if (is_on() && trace != nullptr) {
      std::deque<gpu::trace::TraceEvent> events;
      std::size_t entries = 0;
      std::uint64_t too_old = 0;
      std::uint64_t unseen = result.books.events;
      const auto add = [&](const gpu::trace::TraceEvent& event) {
        if (event.kind != gpu::trace::TraceKind::kOutOfMemory) {
          if (event.kind < gpu::trace::TraceKind::kAlloc || event.kind > gpu::trace::TraceKind::kHeapFree) return;
          --unseen;
        }
        entries += entries_of(event.kind);
        events.push_back(event);
        while (entries > max_entries_) {
          entries -= entries_of(events.front().kind);
          if (events.front().kind != gpu::trace::TraceKind::kOutOfMemory) ++too_old;
          events.pop_front();
        }
      };
      trace->read(first_, add, result.books.trace_end);
      result.dropped = unseen + too_old;
      result.overwritten = too_old == 0 ? unseen : 0;
      result.events.assign(events.begin(), events.end());
    }
    const auto use = [&](std::uint64_t number) {
      if (const auto found = stacks_.find(number); found != stacks_.end()) result.stacks.insert(*found);
    };
    for (const gpu::trace::TraceEvent& event : result.events) use(event.c);
    for (const std::uint64_t number : living(result.books)) use(number);
    return result;
  }

 private:
  static gpu::memory::Ledger& books() { return gpu::memory::UnifiedMemory::instance().ledger(); }

  bool is_on() const { return on_ && generation_ == gpu::support::fork_generation(); }

  static std::unordered_set<std::uint64_t> living(const gpu::memory::Ledger::Books& books) {
    std::unordered_set<std::uint64_t> numbers;
    for (const gpu::memory::Ledger::Books::Segment& heap : books.heaps) {
      numbers.insert(heap.stack);
      for (const gpu::memory::Ledger::Books::Entry& buffer : heap.buffers) numbers.insert(buffer.stack);
    }
    return numbers;
  }

  // What is left are the stacks of events that a snapshot may show, and of what lives. The room grows with these by a
  // part, so that each stack is looked at a few times in all.
  void forget_the_dead() {
    const std::unordered_set<std::uint64_t> alive = living(books().books());
    const std::uint64_t recent = std::max<std::uint64_t>(max_entries_, kLeastRecent);
    std::erase_if(stacks_, [&](const auto& entry) {
      return entry.first + recent <= last_number_ && !alive.contains(entry.first);
    });
    room_ = stacks_.size() + std::max<std::size_t>(stacks_.size() / 4, kLeastRecent);
  }

  // Taken before the books' lock, never after it.
  std::mutex mutex_;
  bool on_ = false;
  std::uint32_t generation_ = 0;
  std::size_t max_entries_ = 0;
  std::uint64_t first_ = 0;        // the trace's index of the first event
  std::uint64_t last_number_ = 0;  // never used twice: the books may have numbers of an earlier recording
  std::size_t room_ = 2 * kLeastRecent;
  Stacks stacks_;
};

History& history() {
  static auto* const only = new History;
  return *only;
}

}  // namespace

bool record_memory(std::size_t max_entries, bool stacks) { return history().begin(max_entries, stacks); }

void stop_recording_memory() { history().end(); }

MemorySnapshot memory_snapshot() { return history().snapshot(); }

std::uint64_t stack_of_allocation() {
  if (!stacks_wanted.load(std::memory_order_relaxed)) return 0;
  // A worker's stack says nothing, and the thread that waits for the worker may hold the GIL.
  if (at::in_parallel_region()) return 0;
  return history().add(torch::CapturedTraceback::gather(/*python=*/true, /*script=*/false, /*cpp=*/false));
}

}  // namespace anymps::backend::runtime
