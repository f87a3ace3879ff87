#include "gpu/memory/unified_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "gpu/forked_child.h"
#include "gpu/memory_samples.h"

namespace anymps::gpu::memory {
namespace {

constexpr std::size_t kUnifiedRange = std::size_t{64} << 30;

std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

TEST(UnifiedMemory, ATemporaryStandsInTheBooksOnceItIsAdopted) {
  Ledger ledger(kSmallMac, 1.7, 1.4);
  Heap heap(kUnifiedRange, plenty);
  UnifiedMemory memory(ledger, heap);
  void* block = memory.allocate_temporary(5000);
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  EXPECT_EQ(heap.live_bytes(), rounded(5000));
  memory.adopt(block);
  memory.adopt(block);
  EXPECT_EQ(ledger.allocated_bytes(), rounded(5000));
  memory.free(block);
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  EXPECT_EQ(heap.live_bytes(), 0U);
}

TEST(UnifiedMemory, ATemporaryThatTheMacHasNoRoomForStaysOne) {
  Ledger ledger(kSmallMac, 0.01, 0.0);
  Heap heap(kUnifiedRange, plenty);
  UnifiedMemory memory(ledger, heap);
  void* block = memory.allocate_temporary(100 * kMiB);
  EXPECT_THROW(memory.adopt(block), OutOfMemory);
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  memory.free(block);
  EXPECT_EQ(heap.live_bytes(), 0U);
}

TEST(UnifiedMemory, SaysWhoseLimitItWas) {
  Ledger ledger(kSmallMac, 1.7, 1.4);
  Heap heap(kUnifiedRange, [] { return 10 * kMiB; });
  UnifiedMemory memory(ledger, heap);
  try {
    memory.allocate(100 * kMiB);
    FAIL();
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("MPS backend out of memory (MPS allocated: ", 0), 0U) << text;
    EXPECT_NE(text.find("the limit of this machine, not of the simulated Mac"), std::string::npos) << text;
  }
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  memory.free(memory.allocate(5 * kMiB));
}

TEST(UnifiedMemory, GoesOnAfterTenThousandRefusals) {
  Ledger ledger(kSmallMac, 0.5, 0.0);
  Heap heap(kUnifiedRange, plenty);
  UnifiedMemory memory(ledger, heap);
  void* kept = memory.allocate(1000);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_THROW(memory.allocate(1100 * kMiB), OutOfMemory);
    memory.free(memory.allocate(3 * kMiB));
    ASSERT_EQ(ledger.allocated_bytes(), rounded(1000));
  }
  memory.free(kept);
  memory.empty_cache();
  EXPECT_EQ(ledger.reserved_bytes(), 0U);
  EXPECT_EQ(heap.usage().allocations, heap.usage().frees);
}

// What the books must come to, kept in the simplest way: a list of what is out.
class Model {
 public:
  struct Block {
    std::size_t bytes;
    bool tensor;
    std::byte stamp;
  };

  void add(void* block, std::size_t bytes, bool tensor, std::byte stamp) {
    auto* place = static_cast<std::byte*>(block);
    const auto next = out_.lower_bound(place);
    if (next != out_.end()) {
      ASSERT_LE(place + bytes, next->first);
    }
    if (next != out_.begin()) {
      ASSERT_GE(place, std::prev(next)->first + std::prev(next)->second.bytes);
    }
    place[0] = place[bytes - 1] = stamp;
    out_[place] = {bytes, tensor, stamp};
    live_ += rounded(bytes);
  }
  std::pair<std::byte*, Block> take(std::uint64_t which) {
    auto victim = out_.lower_bound(std::next(out_.begin(), 0)->first + which % span());
    if (victim == out_.end()) victim = out_.begin();
    const auto found = *victim;
    live_ -= rounded(found.second.bytes);
    out_.erase(victim);
    return found;
  }
  bool empty() const { return out_.empty(); }
  std::size_t live() const { return live_; }
  std::size_t count() const { return out_.size(); }

 private:
  std::uint64_t span() const { return static_cast<std::uint64_t>(out_.rbegin()->first - out_.begin()->first) + 1; }
  std::map<std::byte*, Block> out_;
  std::size_t live_ = 0;
};

// Sizes from one byte to the limit; most are small, as in real programs.
std::size_t draw_size(std::mt19937_64& random) {
  const std::size_t bits = random() % 100 < 97 ? random() % 17 : random() % 31;
  return 1 + random() % (std::size_t{1} << bits);
}

#ifdef __SANITIZE_THREAD__
// There is one thread, so ThreadSanitizer has nothing to see, and takes a minute and more for a million.
constexpr int kOperations = 20'000;
#else
constexpr int kOperations = 1'000'000;
#endif

// Random sequences against the model: nothing overlaps, nothing leaks, what was written is still there, and the
// counters are exact. Failure of a mapping is injected by a machine that has nothing left for a while.
TEST(UnifiedMemory, HoldsAgainstAModelForAMillionOperations) {
  Ledger ledger(kSmallMac, 1.7, 1.4);
  std::mt19937_64 random(20261115);
  std::uint64_t mappings = 0;
  std::uint64_t failing = 3;
  Heap heap(kUnifiedRange, [&]() -> std::size_t { return (++mappings / 4) % failing == 0 ? 0 : std::size_t{2} << 30; });
  UnifiedMemory memory(ledger, heap);
  Model model;
  std::vector<void*> tensors;
  std::size_t refused = 0;
  std::size_t lows = 0;
  for (int i = 0; i < kOperations; ++i) {
    const std::uint64_t dice = random() % 1000;
    if (dice < 480) {
      const std::size_t bytes = draw_size(random);
      const bool tensor = random() % 4 != 0;
      try {
        void* block = tensor ? memory.allocate(bytes) : memory.allocate_temporary(bytes);
        model.add(block, bytes, tensor, static_cast<std::byte>(random()));
        if (HasFatalFailure()) return;
      } catch (const OutOfMemory&) {
        ++refused;
      }
    } else if (dice < 997) {
      if (model.empty()) continue;
      const auto [place, block] = model.take(random());
      ASSERT_EQ(place[0], block.stamp);
      ASSERT_EQ(place[block.bytes - 1], block.stamp);
      if (!block.tensor && random() % 2 == 0) {
        try {
          memory.adopt(place);
        } catch (const OutOfMemory&) {
          ++refused;
        }
      }
      memory.free(place);
    } else if (dice < 998) {
      memory.empty_cache();
    } else if (dice < 999) {
      ledger.set_high_watermark(static_cast<double>(random() % 21) / 10.0);
      ++lows;
    } else {
      failing = 2 + random() % 5;
    }
    ASSERT_EQ(heap.live_bytes(), model.live());
    ASSERT_LE(ledger.allocated_bytes(), ledger.reserved_bytes());
  }
  EXPECT_GT(refused, 0U);
  EXPECT_GT(lows, 0U);
  while (!model.empty()) memory.free(model.take(random()).first);
  memory.empty_cache();
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  EXPECT_EQ(ledger.cached_buffers(), 0U);
  EXPECT_EQ(heap.live_bytes(), 0U);
  EXPECT_EQ(heap.usage().allocations, heap.usage().frees);
  const ByteCount allocated = ledger.allocated();
  EXPECT_EQ(allocated.allocated, allocated.freed);
}

// Buffers in use never overlap in the Mac's heaps either.
TEST(Ledger, BuffersDoNotOverlapInTheirHeaps) {
  Ledger ledger(kSmallMac, 1.7, 0.5);
  std::mt19937_64 random(4);
  std::map<std::pair<std::uint64_t, std::size_t>, std::pair<std::size_t, Ledger::Buffer*>> out;
  std::size_t allocated = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (random() % 2 == 0 && !out.empty()) {
      auto victim = out.begin();
      std::advance(victim, random() % std::min<std::size_t>(out.size(), 64));
      allocated -= victim->second.first;
      ledger.free(victim->second.second);
      out.erase(victim);
      continue;
    }
    Ledger::Buffer* buffer = nullptr;
    try {
      buffer = ledger.allocate(draw_size(random));
    } catch (const OutOfMemory&) {
      continue;
    }
    const Ledger::Placement place = Ledger::placement(*buffer);
    ASSERT_LE(place.offset + place.size, place.heap_size);
    const auto next = out.lower_bound({place.heap, place.offset});
    if (next != out.end() && next->first.first == place.heap) {
      ASSERT_LE(place.offset + place.size, next->first.second);
    }
    if (next != out.begin() && std::prev(next)->first.first == place.heap) {
      ASSERT_LE(std::prev(next)->first.second + std::prev(next)->second.first, place.offset);
    }
    out[{place.heap, place.offset}] = {place.size, buffer};
    allocated += place.size;
    ASSERT_EQ(ledger.allocated_bytes(), allocated);
  }
  for (auto& [where, what] : out) ledger.free(what.second);
  ledger.release_cached();
}

TEST(UnifiedMemory, ThreadsTakeFreeAndEmptyAtOnce) {
  Ledger ledger(kSmallMac, 1.7, 1.4);
  Heap heap(kUnifiedRange, plenty);
  UnifiedMemory memory(ledger, heap);
  constexpr int kThreads = 4;
  // Each thread frees what another one took.
  std::vector<std::atomic<void*>> slots(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(static_cast<std::uint64_t>(t));
      for (int i = 0; i < 20'000; ++i) {
        void* mine = nullptr;
        try {
          const std::size_t bytes = 1 + random() % (std::size_t{1} << (random() % 21));
          mine = random() % 3 == 0 ? memory.allocate_temporary(bytes) : memory.allocate(bytes);
          *static_cast<std::byte*>(mine) = std::byte{1};
        } catch (const OutOfMemory&) {
          continue;
        }
        memory.free(slots[random() % slots.size()].exchange(mine));
        if (random() % 2000 == 0) memory.empty_cache();
        if (random() % 1000 == 0) ledger.set_high_watermark(1.0 + static_cast<double>(random() % 10) / 10.0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& slot : slots) memory.free(slot.load());
  memory.empty_cache();
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  EXPECT_EQ(ledger.reserved_bytes(), 0U);
  EXPECT_EQ(heap.usage().allocations, heap.usage().frees);
}

// A child whose parent's threads were amid an allocation when it was forked.
TEST(UnifiedMemory, AForkedChildAllocates) {
  if (!kForksAmongBusyThreads) GTEST_SKIP() << "the sanitizer's own locks do not bear it";
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer ends a process that holds more than 64 locks";
#endif
  UnifiedMemory& memory = UnifiedMemory::instance();
  const auto take_and_free = [&memory](std::size_t bytes) { memory.free(memory.allocate(bytes)); };
  std::atomic<bool> ends = false;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (!ends) take_and_free(1000 << t);
    });
  }
  int well = 0;
  constexpr int kForks = 200;
  for (int i = 0; i < kForks && well == i; ++i) {
    well += holds_in_child([&] {
      for (std::size_t t = 0; t < 4; ++t) take_and_free(1000 << t);
      return true;
    });
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(well, kForks);
}

}  // namespace
}  // namespace anymps::gpu::memory
