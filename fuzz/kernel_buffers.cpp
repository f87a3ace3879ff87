#include "kernel_buffers.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu/support/float16.h"
#include "random.h"

namespace anymps::fuzz {
namespace {

std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::kUchar:
      return 1;
    case Element::kShort:
    case Element::kHalf:
      return 2;
    case Element::kLong:
      return 8;
    default:
      return 4;
  }
}

bool is_real(Element element) { return element == Element::kFloat || element == Element::kHalf; }

// No denormals of float: what takes them for zero may be optimised away.
float random_real(Random& random) {
  constexpr float kOdd[] = {0.0F,
                            -0.0F,
                            1.0F,
                            -1.0F,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            3e38F,
                            65504.0F,
                            16777216.0F};
  if (random.chance(10)) return random.one_of(kOdd);
  return (static_cast<float>(random.below(4096)) - 2048.0F) / (random.chance(50) ? 8.0F : 300.0F);
}

std::uint64_t random_integer(Random& random) {
  if (random.chance(60)) return random.below(40);
  if (random.chance(50)) return -std::uint64_t{random.below(300)};
  if (random.chance(20)) return std::uint64_t{1} << random.below(64);
  return random.next();
}

std::uint64_t random_element(Element element, Random& random) {
  if (element == Element::kFloat) return std::bit_cast<std::uint32_t>(random_real(random));
  if (element == Element::kHalf)
    return std::bit_cast<std::uint16_t>(static_cast<gpu::support::float16>(random_real(random)));
  return random_integer(random);
}

std::uint64_t element_at(Element element, const Bytes& bytes, std::size_t index) {
  std::uint64_t bits = 0;
  const std::size_t size = bytes_of(element);
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

float real_of(Element element, std::uint64_t bits) {
  if (element == Element::kFloat) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  return static_cast<float>(std::bit_cast<gpu::support::float16>(static_cast<std::uint16_t>(bits)));
}

std::string element_text(Element element, std::uint64_t bits) {
  std::string text = std::to_string(bits);
  if (is_real(element)) text += " (" + std::to_string(real_of(element, bits)) + ")";
  return text;
}

}  // namespace

const std::vector<BufferKind>& buffer_kinds() {
  static const std::vector<BufferKind> kinds = {
      {"out_u", "device uint*", Element::kUint, 1, 4, 0, true},
      {"out_f", "device float*", Element::kFloat, 1, 4, 0, true},
      {"out_b", "device uchar*", Element::kUchar, 1, 2, 0, true},
      {"out_s", "device short*", Element::kShort, 1, 2, 0, true},
      {"out_h", "device half*", Element::kHalf, 1, 2, 0, true},
      {"out_l", "device long*", Element::kLong, 1, 2, 0, true},
      {"out_v", "device float4*", Element::kFloat, 4, 2, 0, true},
      {"out_a", "device atomic_uint*", Element::kUint, 1, 0, 24, true},
      {"out_c", "device atomic_int*", Element::kInt, 1, 0, 8, true},
      {"in_u", "device const uint*", Element::kUint, 1, 0, kManyInputs + kBehind, false},
      {"in_i", "device const int*", Element::kInt, 1, 0, kInputs + kBehind, false},
      {"in_f", "device const float*", Element::kFloat, 1, 0, kInputs + kBehind, false},
      {"in_b", "device const uchar*", Element::kUchar, 1, 0, kInputs + kBehind, false},
      {"in_s", "device const short*", Element::kShort, 1, 0, kInputs + kBehind, false},
      {"in_h", "device const half*", Element::kHalf, 1, 0, 2 * (kInputs + kBehind), false},
      {"in_l", "device const long*", Element::kLong, 1, 0, kInputs + kBehind, false},
      {"in_v", "device const float4*", Element::kFloat, 4, 0, kInputs + kBehind, false},
      {"in_w", "device const uint2*", Element::kUint, 2, 0, kInputs + kBehind, false},
      {"c_u", "constant uint&", Element::kUint, 1, 0, 1, false},
      {"c_i", "constant int&", Element::kInt, 1, 0, 1, false},
      {"c_f", "constant float&", Element::kFloat, 1, 0, 1, false},
      {"c_l", "constant long&", Element::kLong, 1, 0, 1, false},
      {"c_stride", "constant uint&", Element::kUint, 1, 0, 1, false},
      {"c_table", "constant uint*", Element::kUint, 1, 0, kTable, false},
  };
  return kinds;
}

std::vector<Bytes> make_buffers(unsigned values, unsigned threads) {
  std::vector<Bytes> buffers;
  for (const BufferKind& kind : buffer_kinds()) {
    Random random(values * 100 + buffers.size());
    const std::size_t places = kind.per_thread != 0 ? std::size_t{kind.per_thread} * threads : kind.count;
    const std::size_t size = bytes_of(kind.element);
    Bytes bytes(places * kind.width * size);
    for (std::size_t i = 0; i < places * kind.width; ++i) {
      std::uint64_t bits = random_element(kind.element, random);
      if (kind.name == std::string("c_stride")) bits = 1 + values % 4;
      std::memcpy(bytes.data() + i * size, &bits, size);
    }
    buffers.push_back(std::move(bytes));
  }
  return buffers;
}

std::optional<std::string> difference(const BufferKind& kind, const Bytes& left, const Bytes& right) {
  if (left == right) return std::nullopt;
  for (std::size_t i = 0; i < left.size() / bytes_of(kind.element); ++i) {
    const std::uint64_t a = element_at(kind.element, left, i);
    const std::uint64_t b = element_at(kind.element, right, i);
    if (a == b) continue;
    if (is_real(kind.element) && std::isnan(real_of(kind.element, a)) && std::isnan(real_of(kind.element, b))) continue;
    std::string text = std::string(kind.name) + ", element " + std::to_string(i);
    if (kind.per_thread != 0) text += " of thread " + std::to_string(i / kind.width / kind.per_thread);
    return text + ": " + element_text(kind.element, a) + " and " + element_text(kind.element, b);
  }
  return std::nullopt;
}

}  // namespace anymps::fuzz
