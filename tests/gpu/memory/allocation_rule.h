// What a request gets of an empty ledger: a table of rules for each kind of heaps.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>

#include "gpu/memory/ledger.h"
#include "gpu/memory_samples.h"

namespace anymps::gpu::memory {

inline constexpr Ledger::Mac kLargeMac{.working_set = 10 * kGiB, .max_buffer = 7 * kGiB};

struct AllocationRule {
  const char* source;
  std::size_t request;
  std::size_t size;
  bool small_pool;
  std::size_t heap;
};

inline void PrintTo(const AllocationRule& rule, std::ostream* out) {
  *out << rule.request << " bytes: " << rule.source;
}

inline void expect_size_pool_and_heap(Ledger& ledger, const AllocationRule& rule) {
  Ledger::Buffer* buffer = ledger.allocate(rule.request);
  const Ledger::Placement place = Ledger::placement(*buffer);
  EXPECT_EQ(place.size, rule.size);
  EXPECT_EQ(place.small_pool, rule.small_pool);
  EXPECT_EQ(place.heap_size, rule.heap);
  EXPECT_EQ(ledger.allocated_bytes(), rule.size);
  EXPECT_EQ(ledger.reserved_bytes(), rule.heap);
  ledger.free(buffer);
  EXPECT_EQ(ledger.allocated_bytes(), 0U);
  EXPECT_EQ(ledger.reserved_bytes(), rule.heap) << "cached";
  ledger.release_cached();
  EXPECT_EQ(ledger.reserved_bytes(), 0U);
}

}  // namespace anymps::gpu::memory
