// What the books write into the trace. Each test records in a forked child, because a process has one trace.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <thread>
#include <vector>

#include "forked_child.h"
#include "gpu/ledger.h"
#include "gpu/trace.h"
#include "memory_samples.h"

namespace anymps::gpu {
namespace {

std::uint64_t address_of(const Ledger::Buffer* buffer) {
  const Ledger::Placement place = Ledger::placement(*buffer);
  return place.address + place.offset;
}

std::vector<TraceEvent> events_from(std::uint64_t first) {
  std::vector<TraceEvent> events;
  Trace::current()->read(first, [&](const TraceEvent& event) { events.push_back(event); });
  return events;
}

bool is(const TraceEvent& event, TraceKind kind, std::uint64_t address, std::uint64_t bytes, std::uint64_t stack) {
  return event.kind == kind && event.a == address && event.b == bytes && event.c == stack;
}

class LedgerEvents : public ::testing::Test {
 protected:
  void SetUp() override { ::unsetenv("ANYMPS_RUN"); }
};

TEST_F(LedgerEvents, EveryChangeIsOneEventInItsOrder) {
  EXPECT_TRUE(holds_in_child([] {
    Ledger ledger(kSmallMac, 1.7, 1.4);
    if (!Trace::keep()) return false;
    Ledger::Buffer* before = ledger.allocate(3000);
    ledger.record_events(true);
    const std::uint64_t first = Trace::current()->written();
    Ledger::Buffer* buffer = ledger.allocate(2 * kMiB, 7);
    const std::uint64_t address = address_of(buffer);
    const std::uint64_t heap = Ledger::placement(*buffer).address;
    const std::uint64_t old = address_of(before);
    const std::uint64_t old_heap = Ledger::placement(*before).address;
    ledger.free(buffer);
    if (ledger.allocate(2 * kMiB - 100, 8) != buffer) return false;  // the same, from the cache: no heap for it
    ledger.free(buffer);
    ledger.free(before);
    ledger.release_cached();
    const Ledger::Books books = ledger.books();
    ledger.record_events(false);
    ledger.free(ledger.allocate(100));
    const std::vector<TraceEvent> events = events_from(first);
    return events.size() == 8 && is(events[0], TraceKind::kHeapAlloc, heap, 32 * kMiB, 7) &&
           is(events[1], TraceKind::kAlloc, address, 2 * kMiB, 7) &&
           is(events[2], TraceKind::kFree, address, 2 * kMiB, 7) &&
           is(events[3], TraceKind::kAlloc, address, 2 * kMiB - 100, 8) &&
           is(events[4], TraceKind::kFree, address, 2 * kMiB - 100, 8) &&
           is(events[5], TraceKind::kFree, old, 3000, 0) && is(events[6], TraceKind::kHeapFree, heap, 32 * kMiB, 0) &&
           is(events[7], TraceKind::kHeapFree, old_heap, 8 * kMiB, 0) && books.events == 8 &&
           books.trace_end == first + 8;
  }));
}

TEST_F(LedgerEvents, WithoutATraceNothingIsCounted) {
  EXPECT_TRUE(holds_in_child([] {
    Ledger ledger(kSmallMac, 1.7, 1.4);
    ledger.record_events(true);
    ledger.free(ledger.allocate(100));
    return Trace::current() == nullptr && ledger.books().events == 0;
  }));
}

// However many threads: who replays the events stands where the books stand.
TEST_F(LedgerEvents, ReplayedTheyAreTheBooks) {
  EXPECT_TRUE(holds_in_child([] {
    Ledger ledger(kSmallMac, 1.7, 1.4);
    if (!Trace::keep()) return false;
    const std::uint64_t first = Trace::current()->written();
    ledger.record_events(true);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&ledger, t] {
        std::vector<Ledger::Buffer*> held;
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
    const Ledger::Books books = ledger.books();
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> blocks;
    std::map<std::uint64_t, std::uint64_t> heaps;
    std::uint64_t count = 0;
    for (const TraceEvent& event : events_from(first)) {
      ++count;
      if (event.kind == TraceKind::kAlloc && !blocks.emplace(event.a, std::pair(event.b, event.c)).second) return false;
      if (event.kind == TraceKind::kFree && blocks.erase(event.a) != 1) return false;
      if (event.kind == TraceKind::kHeapAlloc && !heaps.emplace(event.a, event.b).second) return false;
      if (event.kind == TraceKind::kHeapFree && heaps.erase(event.a) != 1) return false;
    }
    if (count != books.events || heaps.size() != books.heaps.size()) return false;
    for (const Ledger::Books::Segment& heap : books.heaps) {
      if (heaps.at(heap.address) != heap.size) return false;
      std::size_t end = 0;
      for (const Ledger::Books::Entry& entry : heap.buffers) {
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
  Ledger ledger(kSmallMac, 1.7, 1.4);
  Ledger::Buffer* small = ledger.allocate(1000, 5);
  Ledger::Buffer* cached = ledger.allocate(2000, 6);
  Ledger::Buffer* large = ledger.allocate(3 * kMiB, 7);
  ledger.free(cached);
  const Ledger::Books books = ledger.books();
  ASSERT_EQ(books.heaps.size(), 2U);
  const Ledger::Books::Segment& first = books.heaps[0];
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
