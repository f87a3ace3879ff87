#include "gpu/memory/heap.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "gpu/memory_samples.h"

namespace anymps::gpu::memory {
namespace {

constexpr std::size_t kHeapRange = std::size_t{4} << 30;

TEST(Heap, BlocksAreAlignedAndInTheRange) {
  Heap heap(kHeapRange, plenty);
  for (const std::size_t bytes : {1UL, 63UL, 64UL, 65UL, 1000UL, 4096UL, 70000UL, 1UL << 20, 5UL << 20}) {
    void* block = heap.allocate(bytes);
    ASSERT_NE(block, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % Heap::kAlignment, 0U);
    EXPECT_TRUE(heap.contains(block));
    std::memset(block, 0xAB, bytes);
    heap.free(block);
  }
  int local = 0;
  EXPECT_FALSE(heap.contains(&local));
}

TEST(Heap, ReusesAFreedBlock) {
  Heap heap(kHeapRange, plenty);
  void* first = heap.allocate(100000);
  heap.free(first);
  EXPECT_EQ(heap.allocate(100000), first);
}

TEST(Heap, CountsWhatIsOut) {
  Heap heap(kHeapRange, plenty);
  void* one = heap.allocate(1000);
  void* other = heap.allocate(1);
  EXPECT_EQ(heap.usage().live, 1024U + 256U);
  EXPECT_EQ(Heap::requested(one), 1000U);
  heap.free(other);
  heap.free(one);
  EXPECT_EQ(heap.usage().live, 0U);
  EXPECT_EQ(heap.usage().live_peak, 1024U + 256U);
  EXPECT_EQ(heap.usage().allocations, 2U);
  EXPECT_EQ(heap.usage().frees, 2U);
  heap.reset_peak();
  EXPECT_EQ(heap.usage().live_peak, 0U);
}

TEST(Heap, ABlockThatACommandHoldsIsNotHandedOut) {
  Heap heap(kHeapRange, plenty);
  void* block = heap.allocate(5000);
  EXPECT_FALSE(Heap::is_held(block));
  heap.hold(block);
  EXPECT_TRUE(Heap::is_held(block));
  heap.free(block);
  EXPECT_NE(heap.allocate(5000), block);
  EXPECT_EQ(heap.usage().frees, 1U) << "the owner's, who does not wait for a queue";
  EXPECT_GT(heap.usage().live, 5000U);
  heap.let_go(block);
  EXPECT_EQ(heap.usage().frees, 1U);
  EXPECT_EQ(heap.allocate(5000), block);
}

TEST(Heap, TellsWhatTheTagStoodForWhenTheOwnerLetsGo) {
  Heap heap(kHeapRange, plenty);
  int freed = 0;
  int tag = 0;
  heap.set_on_free([](void* count, void*) noexcept { ++*static_cast<int*>(count); }, &freed);
  void* block = heap.allocate(100);
  Heap::tag(block) = &tag;
  heap.hold(block);
  heap.free(block);
  EXPECT_EQ(freed, 1) << "the books do not wait for a queue";
  heap.let_go(block);
  heap.free(heap.allocate(100));
  EXPECT_EQ(freed, 1) << "a tag does not outlive its block";
}

TEST(Heap, PromisesNoMoreThanTheMachineHas) {
  std::size_t left = 64 << 20;
  Heap heap(kHeapRange, [&left] { return left; });
  void* first = heap.allocate(40 << 20);
  ASSERT_NE(first, nullptr);
  // Promised and not touched: the machine still says that it has all of it.
  EXPECT_EQ(heap.allocate(40 << 20), nullptr);
  EXPECT_EQ(heap.usage().allocations, 1U);
  heap.free(first);
  EXPECT_EQ(heap.allocate(50 << 20), nullptr) << "of another size, so the cached block is in the way";
  heap.release_cached();
  EXPECT_NE(heap.allocate(50 << 20), nullptr);
  left = 1 << 20;
  EXPECT_EQ(heap.allocate(20 << 20), nullptr);
}

TEST(Heap, GivesPagesBackAndTakesThemAgain) {
  Heap heap(kHeapRange, plenty);
  void* block = heap.allocate(8 << 20);
  std::memset(block, 1, 8 << 20);
  heap.free(block);
  EXPECT_GE(heap.usage().committed, 8U << 20);
  heap.release_cached();
  EXPECT_EQ(heap.usage().committed, 0U);
  auto* again = static_cast<unsigned char*>(heap.allocate(8 << 20));
  EXPECT_EQ(again[4 << 20], 0) << "pages that went back to the system come back zeroed";
  EXPECT_GE(heap.usage().committed, 8U << 20);
}

TEST(Heap, SaysNoWhenTheRangeIsSpent) {
  Heap heap(16 << 20, plenty);
  EXPECT_EQ(heap.allocate(std::size_t{1} << 40), nullptr);
  std::vector<void*> blocks;
  while (void* block = heap.allocate(1 << 20)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 8U);
  for (void* block : blocks) heap.free(block);
  EXPECT_NE(heap.allocate(1 << 20), nullptr);
}

// Random sizes against a map of what is out: nothing may overlap, and what was written must still be there at the end.
TEST(Heap, NothingOverlaps) {
  Heap heap(kHeapRange, plenty);
  std::mt19937_64 random(7);
  std::map<std::byte*, std::size_t> out;
  for (int i = 0; i < 20000; ++i) {
    if (!out.empty() && random() % 2 == 0) {
      auto victim = out.begin();
      std::advance(victim, random() % std::min<std::size_t>(out.size(), 50));
      const auto tag = static_cast<std::byte>(victim->second);
      ASSERT_EQ(victim->first[0], tag);
      ASSERT_EQ(victim->first[victim->second - 1], tag);
      heap.free(victim->first);
      out.erase(victim);
      continue;
    }
    const std::size_t bytes = 1 + random() % (std::size_t{1} << (random() % 18));
    auto* block = static_cast<std::byte*>(heap.allocate(bytes));
    ASSERT_NE(block, nullptr);
    const auto next = out.lower_bound(block);
    if (next != out.end()) {
      ASSERT_LE(block + bytes, next->first);
    }
    if (next != out.begin()) {
      ASSERT_GE(block, std::prev(next)->first + std::prev(next)->second);
    }
    block[0] = block[bytes - 1] = static_cast<std::byte>(bytes);
    out[block] = bytes;
  }
}

TEST(Heap, ThreadsFreeEachOthersBlocks) {
  Heap heap(kHeapRange, plenty);
  constexpr int kThreads = 4;
  std::vector<std::vector<void*>> taken(kThreads);
  auto run = [&](auto work) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(work, t);
    for (std::thread& thread : threads) thread.join();
  };
  for (int round = 0; round < 20; ++round) {
    run([&](int t) {
      for (int i = 0; i < 200; ++i) taken[t].push_back(heap.allocate(64 + 64 * ((t + i) % 40)));
    });
    run([&](int t) {
      for (void* block : taken[(t + 1) % kThreads]) heap.free(block);
    });
    for (auto& blocks : taken) blocks.clear();
  }
  EXPECT_EQ(heap.usage().live, 0U);
  EXPECT_EQ(heap.usage().allocations, heap.usage().frees);
}

}  // namespace
}  // namespace anymps::gpu::memory
