// What the books write into the trace. Each test records in a forked child, because a process has one trace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory_samples.h"
#include "gpu/trace/trace.h"

namespace anymps::gpu {
namespace {

std::uint64_t address_of(const memory::Ledger::Buffer* buffer) {
  const memory::Ledger::Placement place = memory::Ledger::placement(*buffer);
  return place.address + place.offset;
}

std::vector<trace::TraceEvent> events_from(std::uint64_t first) {
  std::vector<trace::TraceEvent> events;
  trace::Trace::current()->read(first, [&](const trace::TraceEvent& event) { events.push_back(event); });
  return events;
}

bool is(const trace::TraceEvent& event, trace::TraceKind kind, std::uint64_t address, std::uint64_t bytes,
        std::uint64_t stack) {
  return event.kind == kind && event.a == address && event.b == bytes && event.c == stack;
}

class LedgerEvents : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("ANYMPS_RUN"); }
};

TEST_F(LedgerEvents, EveryChangeIsOneEventInItsOrder) {
  EXPECT_TRUE(holds_in_child([] {
    memory::Ledger ledger(kSmallMac, 1.7, 1.4);
    if (!trace::Trace::keep()) return false;
    memory::Ledger::Buffer* before = ledger.allocate(3000);
    ledger.record_events(true);
    const std::uint64_t first = trace::Trace::current()->written();
    memory::Ledger::Buffer* buffer = ledger.allocate(2 * kMiB, 7);
    const std::uint64_t address = address_of(buffer);
    const std::uint64_t heap = memory::Ledger::placement(*buffer).address;
    const std::uint64_t old = address_of(before);
    const std::uint64_t old_heap = memory::Ledger::placement(*before).address;
    ledger.free(buffer);
    if (ledger.allocate(2 * kMiB - 100, 8) != buffer) return false;  // the same, from the cache: no heap for it
    ledger.free(buffer);
    ledger.free(before);
    ledger.release_cached();
    const memory::Ledger::Books books = ledger.books();
    ledger.record_events(false);
    ledger.free(ledger.allocate(100));
    const std::vector<trace::TraceEvent> events = events_from(first);
    return events.size() == 8 && is(events[0], trace::TraceKind::kHeapAlloc, heap, 32 * kMiB, 7) &&
           is(events[1], trace::TraceKind::kAlloc, address, 2 * kMiB, 7) &&
           is(events[2], trace::TraceKind::kFree, address, 2 * kMiB, 7) &&
           is(events[3], trace::TraceKind::kAlloc, address, 2 * kMiB - 100, 8) &&
           is(events[4], trace::TraceKind::kFree, address, 2 * kMiB - 100, 8) &&
           is(events[5], trace::TraceKind::kFree, old, 3000, 0) &&
           is(events[6], trace::TraceKind::kHeapFree, heap, 32 * kMiB, 0) &&
           is(events[7], trace::TraceKind::kHeapFree, old_heap, 8 * kMiB, 0) && books.events == 8 &&
           books.trace_end == first + 8;
  }));
}

TEST_F(LedgerEvents, WithoutATraceNothingIsCounted) {
  EXPECT_TRUE(holds_in_child([] {
    memory::Ledger ledger(kSmallMac, 1.7, 1.4);
    ledger.record_events(true);
    ledger.free(ledger.allocate(100));
    return trace::Trace::current() == nullptr && ledger.books().events == 0;
  }));
}

// However many threads: who replays the events stands where the books stand.
TEST_F(LedgerEvents, ReplayedTheyAreTheBooks) {
  EXPECT_TRUE(holds_in_child([] {
    memory::Ledger ledger(kSmallMac, 1.7, 1.4);
    if (!trace::Trace::keep()) return false;
    const std::uint64_t first = trace::Trace::current()->written();
    ledger.record_events(true);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&ledger, t] {
        std::vector<memory::Ledger::Buffer*> held;
        for (std::size_t i = 0; i < 2000; ++i) {
          held.push_back(ledger.allocate(1 + (i * 7919 + t * 104729) % (3 * kMiB), 1000 * t + i + 1));
          if (held.size() > 20) {
            ledger.free(held[i % held.size()]);
            held.erase(held.begin() + static_cast<std::ptrdiff_t>(i % held.size()));
          }
          if (i % 500 == 0) ledger.release_cached();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    const memory::Ledger::Books books = ledger.books();
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> blocks;
    std::map<std::uint64_t, std::uint64_t> heaps;
    std::uint64_t count = 0;
    for (const trace::TraceEvent& event : events_from(first)) {
      ++count;
      if (event.kind == trace::TraceKind::kAlloc && !blocks.emplace(event.a, std::pair(event.b, event.c)).second)
        return false;
      if (event.kind == trace::TraceKind::kFree && blocks.erase(event.a) != 1) return false;
      if (event.kind == trace::TraceKind::kHeapAlloc && !heaps.emplace(event.a, event.b).second) return false;
      if (event.kind == trace::TraceKind::kHeapFree && heaps.erase(event.a) != 1) return false;
    }
    if (count != books.events || heaps.size() != books.heaps.size()) return false;
    for (const memory::Ledger::Books::Segment& heap : books.heaps) {
      if (heaps.at(heap.address) != heap.size) return false;
      std::size_t end = 0;
      for (const memory::Ledger::Books::Entry& entry : heap.buffers) {
        if (entry.offset < end) return false;
        end = entry.offset + entry.size;
        if (!entry.in_use) continue;
        const auto found = blocks.find(heap.address + entry.offset);
        if (found == blocks.end() ||
            found->second != std::pair<std::uint64_t, std::uint64_t>(entry.requested, entry.stack)) {
          return false;
        }
        blocks.erase(found);
      }
      if (end > heap.size) return false;
    }
    return blocks.empty();
  }));
}

TEST(LedgerBooks, HaveEveryHeapAndWhatIsInIt) {
  memory::Ledger ledger(kSmallMac, 1.7, 1.4);
  memory::Ledger::Buffer* small = ledger.allocate(1000, 5);
  memory::Ledger::Buffer* cached = ledger.allocate(2000, 6);
  memory::Ledger::Buffer* large = ledger.allocate(3 * kMiB, 7);
  ledger.free(cached);
  const memory::Ledger::Books books = ledger.books();
  ASSERT_EQ(books.heaps.size(), 2U);
  const memory::Ledger::Books::Segment& first = books.heaps[0];
  EXPECT_TRUE(first.small_pool);
  EXPECT_EQ(first.size, 8 * kMiB);
  EXPECT_EQ(first.stack, 5U);
  EXPECT_NE(first.address, 0U);
  ASSERT_EQ(first.buffers.size(), 2U);
  EXPECT_TRUE(first.buffers[0].in_use);
  EXPECT_EQ(first.buffers[0].size, 1024U);
  EXPECT_EQ(first.buffers[0].requested, 1000U);
  EXPECT_EQ(first.buffers[0].stack, 5U);
  EXPECT_EQ(first.address + first.buffers[0].offset, address_of(small));
  EXPECT_FALSE(first.buffers[1].in_use);
  EXPECT_EQ(first.buffers[1].size, 2048U);
  EXPECT_EQ(first.buffers[1].stack, 0U);
  EXPECT_GE(books.heaps[1].address, first.address + first.size) << "heaps do not overlap";
  EXPECT_EQ(books.heaps[1].address + books.heaps[1].buffers.at(0).offset, address_of(large));
  ledger.free(small);
  ledger.free(large);
}

}  // namespace
}  // namespace anymps::gpu
