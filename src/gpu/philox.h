// Philox 4x32 as PyTorch's Metal kernels run it (c10/metal/random.h): a pure function of seed and index.
//
// Those kernels go through nine rounds, one fewer than the ten of the published generator, and take the high word of
// seed and index first. Both are kept: the integer streams of a Mac are part of the contract.
#pragma once

#include <array>
#include <cstdint>

namespace anymps::gpu {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox(std::uint64_t seed, std::uint64_t index) noexcept {
  constexpr std::uint32_t kMultiplierA = 0xD2511F53;
  constexpr std::uint32_t kMultiplierB = 0xCD9E8D57;
  constexpr std::uint32_t kWeylA = 0x9E3779B9;
  constexpr std::uint32_t kWeylB = 0xBB67AE85;
  constexpr int kRounds = 9;

  PhiloxBlock counter{0, 0, static_cast<std::uint32_t>(index >> 32), static_cast<std::uint32_t>(index)};
  auto key_a = static_cast<std::uint32_t>(seed >> 32);
  auto key_b = static_cast<std::uint32_t>(seed);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kMultiplierA} * counter[0];
    const std::uint64_t b = std::uint64_t{kMultiplierB} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key_a, static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key_b, static_cast<std::uint32_t>(a)};
    key_a += kWeylA;
    key_b += kWeylB;
  }
  return counter;
}

// In [0, 1): 31 bits, scaled so that the largest stays below one in single precision.
constexpr float philox_uniform(std::uint32_t bits) noexcept {
  return static_cast<float>(bits & 0x7FFFFFFFU) * 4.6566127342e-10F;
}

}  // namespace anymps::gpu
