// SHA-256 (FIPS 180-4): names what is cached, and tells whether it is still what was written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace anymps::gpu::support {

using Digest = std::array<std::byte, 32>;

// In lower case.
std::string hex_of(const Digest& digest);

class Sha256 {
 public:
  Sha256& update(std::span<const std::byte> bytes);

  // The hash of all that was given. Ends the object's use.
  Digest finish();

 private:
  static constexpr std::size_t kBlock = 64;

  void consume(const std::byte* block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, kBlock> pending_{};
  std::uint64_t length_ = 0;
};

}  // namespace anymps::gpu::support
