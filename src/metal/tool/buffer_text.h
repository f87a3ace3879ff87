// Buffers as a command line says them: "3.5", "1,2,3", "iota:1024", "half:zeros:16", "@x.npy", "uint:3+float:0.5".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metal/tool/element_type.h"

namespace anymps::metal::tool {

// Memory at a multiple of 64 bytes, so that no type lies askew.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::span<const std::byte> bytes);

  std::byte* data() { return lines_.empty() ? nullptr : lines_.data()->bytes; }
  std::span<const std::byte> bytes() const { return {lines_.empty() ? nullptr : lines_.data()->bytes, size_}; }
  std::size_t size() const { return size_; }

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
  std::size_t size_ = 0;
};

struct Buffer {
  ElementType type;
  AlignedBytes memory;             // elements as the kernel sees them
  std::vector<std::size_t> shape;  // of a .npy file's array; empty where it came from none
};

enum class Filling : std::uint8_t { kZeros, kOnes, kIota, kRandom };

// `count` elements. Random floats lie in [-1, 1), random integers in 0 to 99; where `stream` differs, others come.
AlignedBytes filled(Filling filling, const ElementType& type, std::size_t count, std::uint64_t seed,
                    std::uint64_t stream);

// The files that such a text names.
std::vector<std::string> files_in(std::string_view text);

// `type` is the argument's, where it is known; a type in the text comes before it. Throws RequestError.
Buffer buffer_of(std::string_view text, const std::optional<ElementType>& type, std::uint64_t seed,
                 std::uint64_t stream);

}  // namespace anymps::metal::tool
