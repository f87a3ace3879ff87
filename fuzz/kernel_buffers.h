// The arguments that all random kernels have: outputs, of which a thread touches only its own places, then inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace anymps::fuzz {

enum class Element : std::uint8_t { kUchar, kShort, kHalf, kInt, kUint, kFloat, kLong };

struct BufferKind {
  const char* name;
  const char* type;     // as the kernel declares it
  Element element;      // of which it is made
  unsigned width;       // elements in one place: 4 for a float4
  unsigned per_thread;  // places of a thread; 0 for what is not divided
  unsigned count;       // places, where it is not divided
  bool output;
};

inline constexpr unsigned kInputs = 4096;       // places of an input,
inline constexpr unsigned kManyInputs = 65536;  // and of in_u, which 16 bits reach all of,
inline constexpr unsigned kBehind = 32;         // and as many more behind these
inline constexpr unsigned kTable = 16;
// A random kernel has at most as many, so that what it reads at multiples of its position is there.
inline constexpr unsigned kMostThreads = 720;

// By binding.
const std::vector<BufferKind>& buffer_kinds();

using Bytes = std::vector<std::byte>;

// For that many threads. Numbers are small, large and odd ones, in that order of frequency.
std::vector<Bytes> make_buffers(unsigned values, unsigned threads);

// Where two contents of a buffer differ first, in words. NaNs are all the same.
std::optional<std::string> difference(const BufferKind& kind, const Bytes& left, const Bytes& right);

}  // namespace anymps::fuzz
