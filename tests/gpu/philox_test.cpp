#include "gpu/philox.h"

#include <gtest/gtest.h>

namespace anymps::gpu {
namespace {

// Rounds written out by hand from the definition: two products, two exclusive ors, two moves.
PhiloxBlock one_round(PhiloxBlock c, std::uint32_t key_a, std::uint32_t key_b) {
  const std::uint64_t a = 0xD2511F53ULL * c[0];
  const std::uint64_t b = 0xCD9E8D57ULL * c[2];
  return {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ key_a, static_cast<std::uint32_t>(b),
          static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ key_b, static_cast<std::uint32_t>(a)};
}

TEST(Philox, IsNineRoundsOverTheHighWordsFirst) {
  const std::uint64_t seed = 0x0123456789ABCDEFULL;
  const std::uint64_t index = 0xFEDCBA9876543210ULL;
  PhiloxBlock expected{0, 0, 0xFEDCBA98U, 0x76543210U};
  std::uint32_t key_a = 0x01234567U;
  std::uint32_t key_b = 0x89ABCDEFU;
  for (int i = 0; i < 9; ++i, key_a += 0x9E3779B9U, key_b += 0xBB67AE85U) expected = one_round(expected, key_a, key_b);
  EXPECT_EQ(philox(seed, index), expected);
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(philox_uniform(0), 0.0F);
  EXPECT_LT(philox_uniform(0x7FFFFFFFU), 1.0F);
  EXPECT_LT(philox_uniform(0xFFFFFFFFU), 1.0F);
}

}  // namespace
}  // namespace anymps::gpu
