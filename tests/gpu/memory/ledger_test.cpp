// The rules of PyTorch's MPS allocator, each with where it comes from: names in capitals are constants and functions of
// aten/src/ATen/mps/MPSAllocator.{h,mm} of PyTorch 2.13; "stated" marks our own rule for what only Metal's driver
// knows. What later releases do otherwise is in placement_heaps_test.cpp.
#include "gpu/memory/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/memory/allocation_rule.h"
#include "gpu/memory_samples.h"

namespace anymps::gpu::memory {
namespace {

class LedgerRule : public testing::TestWithParam<AllocationRule> {};

TEST_P(LedgerRule, GivesSizePoolAndHeap) {
  Ledger ledger(kLargeMac, 1.7, 1.4);
  expect_size_pool_and_heap(ledger, GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    , LedgerRule,
    testing::Values(AllocationRule{"stated: heapBufferSizeAndAlign is 256", 1, 256, true, 8 * kMiB},
                    AllocationRule{"stated", 256, 256, true, 8 * kMiB},
                    AllocationRule{"stated", 257, 512, true, 8 * kMiB},
                    AllocationRule{"kSmallHeap", 100 * kKiB, 100 * kKiB, true, 8 * kMiB},
                    AllocationRule{"kMaxSmallAlloc: up to and with 1 MiB", kMiB, kMiB, true, 8 * kMiB},
                    AllocationRule{"get_pool: over kMaxSmallAlloc", kMiB + 1, kMiB + 256, false, 32 * kMiB},
                    AllocationRule{"kLargeHeap: below kMinLargeAlloc", 10 * kMiB - 1, 10 * kMiB, false, kGiB},
                    AllocationRule{"kLargeHeap", 10 * kMiB - 256, 10 * kMiB - 256, false, 32 * kMiB},
                    AllocationRule{"kXLargeHeap: from kMinLargeAlloc on", 10 * kMiB, 10 * kMiB, false, kGiB},
                    AllocationRule{"kXLargeHeap: below its half", 512 * kMiB - 256, 512 * kMiB - 256, false, kGiB},
                    AllocationRule{"kRoundLarge: a heap of its own", 512 * kMiB, 512 * kMiB, false, 512 * kMiB},
                    AllocationRule{"kRoundLarge: in steps of 2 MiB", 512 * kMiB + 1, 512 * kMiB + 256, false,
                                   514 * kMiB}));

TEST(Ledger, RefusesABufferAsLargeAsTheLargest) {  // alloc_buffer_block: size < m_max_buffer_size
  Ledger ledger(kLargeMac, 1.7, 1.4);
  try {
    ledger.allocate(7 * kGiB);
    FAIL();
  } catch (const InvalidBufferSize& error) {
    EXPECT_STREQ(error.what(), "Invalid buffer size: 7.00 GiB");
  }
  ledger.free(ledger.allocate(7 * kGiB - 1));
}

TEST(Ledger, BuffersShareAHeapUntilItIsFull) {  // get_free_heap
  Ledger ledger(kLargeMac, 1.7, 1.4);
  std::vector<Ledger::Buffer*> buffers;
  for (int i = 0; i < 9; ++i) buffers.push_back(ledger.allocate(kMiB));
  EXPECT_EQ(Ledger::placement(*buffers[0]).heap, Ledger::placement(*buffers[7]).heap);
  EXPECT_NE(Ledger::placement(*buffers[0]).heap, Ledger::placement(*buffers[8]).heap);
  EXPECT_EQ(ledger.reserved_bytes(), 16 * kMiB);
  for (Ledger::Buffer* buffer : buffers) ledger.free(buffer);
}

TEST(Ledger, ReusesTheSmallestCachedBufferThatHoldsIt) {  // get_free_buffer: lower_bound
  Ledger ledger(kLargeMac, 1.7, 1.4);
  Ledger::Buffer* small = ledger.allocate(3 * kMiB);
  Ledger::Buffer* large = ledger.allocate(6 * kMiB);
  ledger.free(small);
  ledger.free(large);
  EXPECT_EQ(ledger.allocate(2 * kMiB), small);
  EXPECT_EQ(ledger.allocated_bytes(), 3 * kMiB) << "the whole buffer is in use";
  EXPECT_EQ(ledger.allocate(5 * kMiB), large);
  ledger.free(small);
  ledger.free(large);
}

TEST(Ledger, ASmallRequestIsNotServedFromTheLargePool) {  // get_pool
  Ledger ledger(kLargeMac, 1.7, 1.4);
  Ledger::Buffer* large = ledger.allocate(2 * kMiB);
  ledger.free(large);
  Ledger::Buffer* small = ledger.allocate(kMiB);
  EXPECT_NE(small, large);
  ledger.free(small);
}

TEST(Ledger, ABufferTooLargeByOver32MiBIsNotReused) {  // get_free_buffer: size <= params.size() + kLargeHeap
  Ledger ledger(kLargeMac, 1.7, 1.4);
  Ledger::Buffer* buffer = ledger.allocate(600 * kMiB);
  ledger.free(buffer);
  Ledger::Buffer* close = ledger.allocate(568 * kMiB);
  EXPECT_EQ(close, buffer);
  ledger.free(close);
  // No heap has room, so the buffer gives up its place and the request goes into the same heap.
  Ledger::Buffer* split = ledger.allocate(100 * kMiB);
  EXPECT_EQ(Ledger::placement(*split).size, 100 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 600 * kMiB);
  ledger.free(split);
}

TEST(Ledger, RoomInAHeapGoesBeforeAnOversizedBuffer) {  // get_free_buffer: heaps.lower_bound
  Ledger ledger(kLargeMac, 1.7, 1.4);
  Ledger::Buffer* keeps_the_heap = ledger.allocate(20 * kMiB);
  Ledger::Buffer* oversized = ledger.allocate(600 * kMiB);
  ledger.free(oversized);
  Ledger::Buffer* buffer = ledger.allocate(100 * kMiB);
  EXPECT_EQ(Ledger::placement(*buffer).heap, Ledger::placement(*keeps_the_heap).heap);
  EXPECT_EQ(ledger.cached_buffers(), 1U);
  ledger.free(buffer);
  ledger.free(keeps_the_heap);
}

TEST(Ledger, EmptyCacheKeepsHeapsThatAreInUse) {  // release_buffer: n_buffers == 0
  Ledger ledger(kLargeMac, 1.7, 1.4);
  Ledger::Buffer* stays = ledger.allocate(kKiB);
  ledger.free(ledger.allocate(2 * kKiB));
  ledger.free(ledger.allocate(40 * kMiB));
  EXPECT_EQ(ledger.reserved_bytes(), 8 * kMiB + kGiB);
  ledger.release_cached();
  EXPECT_EQ(ledger.reserved_bytes(), 8 * kMiB);
  ledger.free(stays);
}

TEST(Ledger, TheHighWatermarkIsHeldAgainstHeapsAndTheRequest) {  // alloc_buffer: current_allocated_size() + size
  const Ledger::Mac mac{.working_set = kGiB, .max_buffer = kGiB};
  Ledger ledger(mac, 1.0, 1.0);
  Ledger::Buffer* first = ledger.allocate(100 * kMiB);  // reserves a heap of 1 GiB: all that is allowed
  EXPECT_EQ(ledger.reserved_bytes(), kGiB);
  // There is room in the heap, and yet: the check counts the heap as used.
  EXPECT_THROW(ledger.allocate(kMiB), OutOfMemory);
  ledger.free(first);
  // Now what is cached is released, and there is room again.
  Ledger::Buffer* small = ledger.allocate(kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 8 * kMiB);
  ledger.free(small);
}

TEST(Ledger, OutOfMemoryInBothForms) {  // alloc_buffer_block's TORCH_CHECKs
  const Ledger::Mac mac{.working_set = 100 * kMiB, .max_buffer = 4 * kGiB};
  Ledger limited(mac, 1.7, 1.4);
  Ledger::Buffer* held = limited.allocate(2 * kMiB);
  try {
    limited.allocate(600 * kMiB);
    FAIL();
  } catch (const OutOfMemory& error) {
    EXPECT_STREQ(error.what(),
                 "MPS backend out of memory (MPS allocated: 32.00 MiB, other allocations: 0 bytes, max allowed: 170.00 "
                 "MiB). Tried to allocate 600.00 MiB on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to "
                 "disable upper limit for memory allocations (may cause system failure).");
  }
  limited.free(held);
  Ledger unlimited(mac, 0.0, 0.0);
  unlimited.free(unlimited.allocate(3 * kGiB));
  EXPECT_EQ(unlimited.out_of_memory_text(1),
            "MPS backend out of memory (MPS allocated: 3.00 GiB, other allocations: 0 bytes). Tried to allocate 256 "
            "bytes on shared pool.");
}

TEST(Ledger, GarbageIsCollectedAboveTheLowWatermarkOldestFirst) {  // garbage_collect_cached_buffers
  const Ledger::Mac mac{.working_set = 4 * kGiB, .max_buffer = 4 * kGiB};
  Ledger ledger(mac, 2.0, 0.5);
  // Heaps of their own, so that releasing a buffer releases a heap.
  Ledger::Buffer* old = ledger.allocate(600 * kMiB);
  Ledger::Buffer* young = ledger.allocate(700 * kMiB);
  Ledger::Buffer* held = ledger.allocate(800 * kMiB);
  ledger.free(old);
  for (int i = 0; i < 10; ++i) {  // time goes by: requests of the large pool
    ledger.free(young);
    ASSERT_EQ(ledger.allocate(700 * kMiB), young);
  }
  ledger.free(young);
  EXPECT_EQ(ledger.reserved_bytes(), 2100 * kMiB);
  // Above 2 GiB now, and nothing cached holds 900 MiB: pressure, with more than that in the cache.
  Ledger::Buffer* large = ledger.allocate(900 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 2100 * kMiB - 600 * kMiB + 900 * kMiB) << "the old one went, the young one stays";
  ledger.free(held);
  ledger.free(large);
}

TEST(Ledger, UnderPressureALargeBufferGetsAHeapOfItsOwn) {  // createHeapBlock: !has_memory_pressure
  const Ledger::Mac mac{.working_set = kGiB, .max_buffer = kGiB};
  Ledger ledger(mac, 2.0, 0.5);
  Ledger::Buffer* first = ledger.allocate(600 * kMiB);
  Ledger::Buffer* second = ledger.allocate(20 * kMiB);
  EXPECT_EQ(Ledger::placement(*second).heap_size, 20 * kMiB);
  ledger.free(first);
  ledger.free(second);
}

TEST(Ledger, WithoutALowWatermarkNothingIsCollected) {  // getLowWatermarkValue: ratio 0
  const Ledger::Mac mac{.working_set = kGiB, .max_buffer = 4 * kGiB};
  Ledger ledger(mac, 0.0, 0.0);
  ledger.free(ledger.allocate(600 * kMiB));
  Ledger::Buffer* buffer = ledger.allocate(700 * kMiB);
  EXPECT_EQ(ledger.reserved_bytes(), 1300 * kMiB);
  ledger.free(buffer);
}

TEST(Ledger, BadRatiosAreRefused) {  // setHighWatermarkRatio, setLowWatermarkRatio
  auto text_of = [](double high, double low) -> std::string {
    try {
      Ledger ledger(kLargeMac, high, low);
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  EXPECT_EQ(text_of(2.1, 1.4), "invalid high watermark ratio 2.1");
  EXPECT_EQ(text_of(-1, 1.4), "invalid high watermark ratio -1");
  EXPECT_EQ(text_of(1.0, 1.4), "invalid low watermark ratio 1.4");
  EXPECT_EQ(text_of(0.0, 2.0), "") << "without a high watermark, the low one may go up to 2";
  EXPECT_EQ(text_of(0.0, 2.5), "invalid low watermark ratio 2.5");
  Ledger ledger(kLargeMac, 1.7, 1.4);
  ledger.set_high_watermark(0.5);  // set_per_process_memory_fraction does not look at the low one
  EXPECT_EQ(ledger.high_limit(), 5 * kGiB);
  EXPECT_EQ(ledger.low_limit(), 14 * kGiB);
}

TEST(Ledger, TellsWhatItIsAskedToTell) {  // DebugVerbosity
  std::vector<std::string> lines;
  auto tell = [&lines](const std::string& line) { lines.push_back(line); };
  {
    Ledger ledger(kLargeMac, 1.7, 0.0, LedgerRules{},
                  HeapAccount::kProfiling | HeapAccount::kAllocations | HeapAccount::kRecycles | HeapAccount::kReleases,
                  tell);
    ledger.free(ledger.allocate(3000));
    ledger.free(ledger.allocate(2900));
    ledger.release_cached();
  }
  const std::vector<std::string> expected = {
      "High watermark memory allocation limit: 17.00 GiB",
      "Low watermark memory allocation limit: unlimited",
      "Initializing heap allocator on unified device memory of size 10.00 GiB",
      "Allocated shared heap #1 of size 8.00 MiB (#heaps: 1, current allocated: 8.00 MiB)",
      "Allocated shared buffer #1 of size 3.00 KiB from heap #1 (requested: 2.93 KiB, heap: 7.98 MiB, total: 8.00 MiB)",
      "Reusing shared buffer #1 of size 3.00 KiB (requested: 2.83 KiB, use#: 2, retain#: 1)",
      "Attempting to release cached buffers (MPS allocated: 8.00 MiB, other allocations: 0 bytes)",
      "Releasing 1 buffers from small shared pool (total size: 3.00 KiB, #buffers: 1)",
      "Released buffer #1 of size 3.00 KiB from heap #1 (heap size: 8.00 MiB, use#: 2, retain#: 1, gc#: 0)",
      "Released heap #1 of size 8.00 MiB (current allocated: 0 bytes, retain#: 1)"};
  EXPECT_EQ(lines, expected);
  lines.clear();
  {
    Ledger ledger(kLargeMac, 1.7, 1.4, LedgerRules{}, HeapAccount::kAllocations | HeapAccount::kLargeOnly, tell);
    ledger.free(ledger.allocate(3000));
    EXPECT_EQ(lines.size(), 1U) << "heaps are told of, small buffers are not";
  }
}

TEST(FormatBytes, IsPyTorchs) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1024), "1024 bytes");
  EXPECT_EQ(format_bytes(1025), "1.00 KiB");
  EXPECT_EQ(format_bytes(1048576), "1024.00 KiB");
  EXPECT_EQ(format_bytes(kGiB), "1024.00 MiB");
  EXPECT_EQ(format_bytes(3 * kGiB / 2), "1.50 GiB");
  EXPECT_EQ(format_bytes(4096 * kGiB), "4096.00 GiB");
}

}  // namespace
}  // namespace anymps::gpu::memory
