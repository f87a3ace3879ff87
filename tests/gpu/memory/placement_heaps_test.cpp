// The rules of the MPS allocator of PyTorch 2.14 and later, where they are not those of ledger_test.cpp: names at
// the rules are functions and constants of aten/src/ATen/mps/MPSAllocator.{h,mm}.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpu/memory/allocation_rule.h"
#include "gpu/memory/ledger.h"
#include "gpu/memory_samples.h"

namespace anymps::gpu::memory {
namespace {

constexpr LedgerRules kPlacementRules{.heaps = HeapType::kPlacement};

class PlacementHeapsRule : public testing::TestWithParam<AllocationRule> {};

TEST_P(PlacementHeapsRule, GivesSizePoolAndHeap) {
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  expect_size_pool_and_heap(ledger, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    , PlacementHeapsRule,
    testing::Values(
        AllocationRule{"stated: heapBufferSizeAndAlign is 256", 1, 256, true, 8 * kMiB},
        AllocationRule{"get_allocation_size: no buckets up to kMaxSmallAlloc", kMiB - 1000, kMiB - 768, true, 8 * kMiB},
        AllocationRule{"kMaxSmallAlloc: up to and with 1 MiB", kMiB, kMiB, true, 8 * kMiB},
        AllocationRule{"kLargeBucketShift: 32 buckets from 1 to 2 MiB", kMiB + 1, kMiB + 32 * kKiB, false, 32 * kMiB},
        AllocationRule{"kLargeBucketShift: a bucket's end", 3 * kMiB, 3 * kMiB, false, 32 * kMiB},
        AllocationRule{"kLargeBucketShift: from 4 to 8 MiB", 5 * kMiB + 1, 5 * kMiB + 128 * kKiB, false, 32 * kMiB},
        AllocationRule{"getHeapTier: a bucket does not change the tier", 10 * kMiB - 256, 10 * kMiB - 256, false,
                       32 * kMiB},
        AllocationRule{"kXLargeHeap: from kMinLargeAlloc on", 10 * kMiB, 10 * kMiB, false, kGiB},
        AllocationRule{"getHeapTier: nor to a heap of its own", 512 * kMiB - 256, 512 * kMiB - 256, false, kGiB},
        AllocationRule{"kRoundLarge: a heap of its own, of the bucket", 512 * kMiB + 1, 528 * kMiB, false, 528 * kMiB},
        AllocationRule{"m_max_buffer_size: a bucket is no longer than Metal allows", 7 * kGiB - 3 * kMiB,
                       7 * kGiB - 3 * kMiB, false, 7 * kGiB - 2 * kMiB}));

TEST(PlacementHeaps, AFreeRangeIsCutDownToTheRequest) {  // split_free_block
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* whole = ledger.allocate(8 * kMiB);
  const Ledger::Placement first = Ledger::placement(*whole);
  ledger.free(whole);
  Ledger::Buffer* head = ledger.allocate(4 * kMiB);
  Ledger::Buffer* tail = ledger.allocate(4 * kMiB);
  EXPECT_EQ(Ledger::placement(*head).heap, first.heap);
  EXPECT_EQ(Ledger::placement(*head).offset, first.offset);
  EXPECT_EQ(Ledger::placement(*tail).heap, first.heap);
  EXPECT_EQ(Ledger::placement(*tail).offset, first.offset + 4 * kMiB);
  EXPECT_EQ(ledger.allocated_bytes(), 8 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 32 * kMiB);
  ledger.free(head);
  ledger.free(tail);
}

TEST(PlacementHeaps, WhatIsTooShortForThePoolIsNotSplitOff) {  // BufferPool::min_split: kMaxSmallAlloc
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* buffer = ledger.allocate(8 * kMiB);
  ledger.free(buffer);
  Ledger::Buffer* shorter = ledger.allocate(8 * kMiB - 256 * kKiB);
  EXPECT_EQ(shorter, buffer) << "as it is";
  EXPECT_EQ(ledger.allocated_bytes(), 8 * kMiB) << "all of it is in use";
  ledger.free(shorter);
  Ledger::Buffer* seven = ledger.allocate(7 * kMiB);
  EXPECT_EQ(ledger.allocated_bytes(), 7 * kMiB) << "a MiB is worth splitting off";
  ledger.free(seven);
}

TEST(PlacementHeaps, SmallRangesAreSplitToTheByte) {  // BufferPool::min_split: alignment
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  ledger.free(ledger.allocate(1024));
  Ledger::Buffer* buffer = ledger.allocate(768);
  Ledger::Buffer* next = ledger.allocate(256);
  EXPECT_EQ(Ledger::placement(*buffer).size, 768U);
  EXPECT_EQ(Ledger::placement(*next).offset, 768U);
  ledger.free(buffer);
  ledger.free(next);
}

TEST(PlacementHeaps, NeighboursAreJoined) {  // coalesce_free_blocks, merge_free_blocks
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  std::vector<Ledger::Buffer*> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(ledger.allocate(8 * kMiB));  // the heap is full
  const Ledger::Placement second = Ledger::placement(*buffers[1]);
  ledger.free(buffers[1]);
  ledger.free(buffers[2]);
  Ledger::Buffer* joined = ledger.allocate(9 * kMiB + 900 * kKiB);
  EXPECT_EQ(Ledger::placement(*joined).heap, second.heap);
  EXPECT_EQ(Ledger::placement(*joined).offset, second.offset);
  EXPECT_EQ(ledger.reserved_bytes(), 32 * kMiB);
  for (Ledger::Buffer* buffer : {buffers[0], buffers[3], joined}) ledger.free(buffer);
}

TEST(PlacementHeaps, WhatIsInUseKeepsNeighboursApart) {  // coalesce_free_blocks
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  std::vector<Ledger::Buffer*> buffers;
  for (int i = 0; i < 4; ++i) buffers.push_back(ledger.allocate(8 * kMiB));
  ledger.free(buffers[0]);
  ledger.free(buffers[2]);
  Ledger::Buffer* other = ledger.allocate(9 * kMiB);
  EXPECT_NE(Ledger::placement(*other).heap, Ledger::placement(*buffers[1]).heap);
  for (Ledger::Buffer* buffer : {buffers[1], buffers[3], other}) ledger.free(buffer);
}

TEST(PlacementHeaps, TheShortestFreeRangeIsTaken) {  // get_free_buffer: available_buffers.lower_bound
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* held = ledger.allocate(2 * kMiB);
  Ledger::Buffer* six = ledger.allocate(6 * kMiB);
  Ledger::Buffer* wall = ledger.allocate(2 * kMiB);
  Ledger::Buffer* four = ledger.allocate(4 * kMiB);
  Ledger::Buffer* end = ledger.allocate(2 * kMiB);
  const std::size_t of_four = Ledger::placement(*four).offset;
  ledger.free(six);
  ledger.free(four);
  Ledger::Buffer* three = ledger.allocate(3 * kMiB);
  EXPECT_EQ(Ledger::placement(*three).offset, of_four);
  for (Ledger::Buffer* buffer : {held, wall, end, three}) ledger.free(buffer);
}

TEST(PlacementHeaps, ACachedBufferIsHandedOutToItsOwnStreamAlone) {  // available_buffers_by_stream, split_free_block
  std::vector<std::string> lines;
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules, HeapAccount::kAllocations | HeapAccount::kReleases,
                [&](const std::string& line) { lines.push_back(line); });
  Ledger::Buffer* buffer = ledger.allocate(2 * kMiB, 0, 1);
  const Ledger::Placement place = Ledger::placement(*buffer);
  ledger.free(buffer);
  lines.clear();
  ledger.free(ledger.allocate(2 * kMiB, 0, 1));
  EXPECT_EQ(lines, std::vector<std::string>{}) << "the same buffer";
  Ledger::Buffer* other = ledger.allocate(2 * kMiB, 0, 2);
  EXPECT_EQ(Ledger::placement(*other).offset, place.offset) << "the same range";
  const std::vector<std::string> expected = {
      "Released buffer of size 2.00 MiB from heap #1 (use#: 2, retain#: 1)",
      "Allocated shared buffer #2 of size 2.00 MiB from heap #1 (offset: 0 bytes, heap free: 30.00 MiB, total: 32.00 "
      "MiB)"};
  EXPECT_EQ(lines, expected);
  ledger.free(other);
}

TEST(PlacementHeaps, AStreamsOwnBufferGoesBeforeOthers) {  // get_free_buffer: available_buffers_by_stream
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* others = ledger.allocate(2 * kMiB, 0, 1);
  Ledger::Buffer* own = ledger.allocate(2 * kMiB, 0, 2);
  ledger.free(others);
  ledger.free(own);
  EXPECT_EQ(ledger.allocate(2 * kMiB, 0, 2), own);
  ledger.free(own);
}

TEST(PlacementHeaps, HeapsThatHoldNothingAreReleased) {  // release_cached_buffers: release_free_heaps
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* stays = ledger.allocate(kKiB);
  ledger.free(ledger.allocate(2 * kKiB));
  ledger.free(ledger.allocate(40 * kMiB));
  EXPECT_EQ(ledger.cached_buffers(), 2U);
  ledger.release_cached();
  EXPECT_EQ(ledger.reserved_bytes(), 8 * kMiB);
  EXPECT_EQ(ledger.cached_buffers(), 1U) << "of a heap in use nothing is given back";
  ledger.free(stays);
}

TEST(PlacementHeaps, TheHighWatermarkIsHeldAgainstHeapsAndTheRequest) {  // get_free_buffer, alloc_heap
  const Ledger::Mac mac{.working_set = kGiB, .max_buffer = kGiB};
  Ledger ledger(mac, 1.0, 1.0, kPlacementRules);
  Ledger::Buffer* first = ledger.allocate(100 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), kGiB);
  EXPECT_THROW(ledger.allocate(kMiB), OutOfMemory);
  ledger.free(first);
  Ledger::Buffer* small = ledger.allocate(kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 8 * kMiB);
  ledger.free(small);
}

TEST(PlacementHeaps, OutOfMemoryNamesTheBucket) {  // alloc_buffer_block: format_size(alloc_size)
  Ledger ledger({.working_set = 100 * kMiB, .max_buffer = 4 * kGiB}, 1.7, 1.4, kPlacementRules);
  try {
    ledger.allocate(601 * kMiB);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(),
                 "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: 170.00 "
                 "MiB). Tried to allocate 608.00 MiB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to "
                 "disable upper limit for memory allocations (may cause system failure).");
  }
}

TEST(PlacementHeaps, UnderPressureFreeHeapsGoOldestFirst) {  // garbage_collect_cached_buffers
  const Ledger::Mac mac{.working_set = 4 * kGiB, .max_buffer = 4 * kGiB};
  Ledger ledger(mac, 2.0, 0.5, kPlacementRules);
  Ledger::Buffer* old = ledger.allocate(640 * kMiB);
  Ledger::Buffer* young = ledger.allocate(704 * kMiB);
  Ledger::Buffer* held = ledger.allocate(800 * kMiB);
  ledger.free(young);
  ledger.free(old);
  Ledger::Buffer* large = ledger.allocate(896 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), (704 + 800 + 896) * kMiB) << "the older heap, whichever was used last";
  ledger.free(held);
  ledger.free(large);
}

// Whatever was asked for: buffers in use do not overlap, and lie in their heaps; heaps and sums agree with the books;
// and what is given back can all be released.
TEST(PlacementHeaps, BuffersNeverOverlap) {
  Ledger ledger(kLargeMac, 1.7, 0.3, kPlacementRules);
  std::mt19937 random(1);
  std::vector<Ledger::Buffer*> held;
  std::size_t in_use = 0;
  for (int i = 0; i < 20000; ++i) {
    if (held.size() < 40 || (held.size() < 200 && random() % 2 == 0)) {
      const std::size_t largest = std::size_t{1} << (8 + random() % 20);
      held.push_back(ledger.allocate(1 + random() % largest, 0, random() % 3));
      in_use += held.back()->size;
    } else {
      std::swap(held[random() % held.size()], held.back());
      in_use -= held.back()->size;
      ledger.free(held.back());
      held.pop_back();
    }
    ASSERT_EQ(ledger.allocated_bytes(), in_use);
    if (i % 100 != 0) continue;
    std::size_t reserved = 0;
    for (const Ledger::Books::Segment& heap : ledger.books().heaps) {
      reserved += heap.size;
      std::size_t end = 0;
      for (const Ledger::Books::Entry& buffer : heap.buffers) {
        ASSERT_GE(buffer.offset, end);
        end = buffer.offset + buffer.size;
      }
      ASSERT_LE(end, heap.size);
    }
    ASSERT_EQ(ledger.reserved_bytes(), reserved);
    if (i % 1000 == 0) ledger.release_cached();
  }
  for (Ledger::Buffer* buffer : held) ledger.free(buffer);
  ledger.release_cached();
  EXPECT_EQ(ledger.reserved_bytes(), 0U);
}

TEST(PlacementHeaps, BooksHaveTheBlocksThatHaveABuffer) {
  Ledger ledger(kLargeMac, 1.7, 1.4, kPlacementRules);
  Ledger::Buffer* held = ledger.allocate(3000, 7);
  ledger.free(ledger.allocate(5000, 8));
  const Ledger::Books books = ledger.books();
  ASSERT_EQ(books.heaps.size(), 1U);
  const auto& buffers = books.heaps[0].buffers;
  ASSERT_EQ(buffers.size(), 2U) << "the rest of the heap has none";
  EXPECT_TRUE(buffers[0].in_use && buffers[0].stack == 7 && buffers[0].requested == 3000);
  EXPECT_TRUE(!buffers[1].in_use && buffers[1].stack == 0 && buffers[1].offset == 3072);
  ledger.free(held);
}

TEST(PlacementHeaps, TellsWhatItIsAskedToTell) {  // DebugVerbosity
  std::vector<std::string> lines;
  Ledger ledger(kLargeMac, 1.7, 0.0, kPlacementRules,
                HeapAccount::kAllocations | HeapAccount::kRecycles | HeapAccount::kReleases,
                [&](const std::string& line) { lines.push_back(line); });
  ledger.free(ledger.allocate(3000));
  ledger.free(ledger.allocate(2900));
  ledger.release_cached();
  const std::vector<std::string> expected = {
      "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)",
      "Allocated shared buffer #1 of size 3.00 KiB from heap #1 (offset: 0 bytes, heap free: 8.00 MiB, total: 8.00 "
      "MiB)",
      "Reusing shared buffer #1 of size 3.00 KiB (requested: 2.83 KiB, use#: 2, retain#: 1)",
      "Attempting to release cached buffers (MPS allocated: 8.00 MiB, other allocations: 0 bytes)",
      "Released buffer of size 3.00 KiB from heap #1 (use#: 2, retain#: 1)",
      "Released heap #1 of size 8.00 MiB (current allocated: 0 bytes, retain#: 1)"};
  EXPECT_EQ(lines, expected);
}

TEST(LedgerRules, ChangeWithTheRelease) {
  EXPECT_EQ(LedgerRules::of_release("2.9.1").heaps, HeapType::kAutomatic);
  EXPECT_EQ(LedgerRules::of_release("2.13.0").heaps, HeapType::kAutomatic);
  EXPECT_EQ(LedgerRules::of_release("2.14.1").heaps, HeapType::kPlacement);
  EXPECT_FALSE(LedgerRules::of_release("2.14.1").tells_active_bytes);
  EXPECT_TRUE(LedgerRules::of_release("2.15.0").tells_active_bytes);
}

TEST(LedgerRules, ActiveBytesAreThoseInUse) {  // MPSHeapAllocatorImpl::getDeviceStats of 2.15
  Ledger older(kLargeMac, 1.7, 1.4, LedgerRules::of_release("2.14"));
  EXPECT_FALSE(older.active().has_value());
  Ledger ledger(kLargeMac, 1.7, 1.4, LedgerRules::of_release("2.15"));
  Ledger::Buffer* buffer = ledger.allocate(1000);
  EXPECT_EQ(ledger.active()->current, 1024);
  ledger.free(buffer);
  EXPECT_EQ(ledger.active()->current, 0);
  EXPECT_EQ(ledger.active()->freed, 1024);
}

// How much more than its tensors needed at once the heaps hold after a training whose steps have sequences of other
// lengths: each layer keeps activations that grow with the length, and one with its square, and the backward pass frees
// them from the last on.
std::size_t growth_in_training(LedgerRules rules) {
  constexpr int kSteps = 500;
  constexpr int kLayers = 6;
  constexpr std::size_t kBatch = 8;
  constexpr std::size_t kWidth = 512;
  constexpr std::size_t kHeads = 8;
  Ledger ledger({.working_set = 1024 * kGiB, .max_buffer = 768 * kGiB}, 1.7, 1.4, rules);
  std::mt19937 random(0);
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t length = 32 + random() % 993;
    const std::size_t row = kBatch * length * sizeof(float);
    std::vector<Ledger::Buffer*> kept;
    for (int layer = 0; layer < kLayers; ++layer) {
      for (const std::size_t width : {kWidth, 3 * kWidth, length * kHeads, kWidth, 4 * kWidth, 4 * kWidth}) {
        kept.push_back(ledger.allocate(row * width));
      }
    }
    for (; !kept.empty(); kept.pop_back()) {
      Ledger::Buffer* gradient = ledger.allocate(kept.back()->requested);
      ledger.free(kept.back());
      ledger.free(gradient);
    }
  }
  return ledger.reserved_bytes() - static_cast<std::size_t>(ledger.allocated().peak);
}

TEST(LedgerRules, TrainingWithOtherLengthsGrowsFarLessFrom2_14On) {
  const std::size_t before = growth_in_training(LedgerRules::of_release("2.13"));
  const std::size_t since = growth_in_training(LedgerRules::of_release("2.14"));
  EXPECT_GT(before, 5 * since) << format_bytes(before) << " with automatic heaps, " << format_bytes(since)
                               << " with placement heaps";
}

}  // namespace
}  // namespace anymps::gpu::memory
