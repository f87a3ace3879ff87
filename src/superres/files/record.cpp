#include "superres/files/record.h"

#include <zlib.h>

#include <cstring>

namespace anymps::superres::files {
namespace {

// Little-endian, as all machines are that this runs on.
struct Header {
  std::uint32_t magic = 0x31525053;  // "SPR1"
  std::uint32_t checksum = 0;        // CRC-32 of all that follows it
  std::uint32_t high_width = 0;
  std::uint32_t high_height = 0;
  std::uint32_t low_width = 0;
  std::uint32_t low_height = 0;
  std::uint16_t channels = 0;
  std::uint16_t bits = 0;
};
static_assert(sizeof(Header) == 28);

constexpr std::size_t kSummedFrom = offsetof(Header, high_width);
constexpr std::uint32_t kLongestSide = 1 << 20;

std::uint32_t checksum_of(std::span<const std::uint8_t> record) {
  return static_cast<std::uint32_t>(
      crc32_z(0, record.data() + kSummedFrom, static_cast<z_size_t>(record.size() - kSummedFrom)));
}

std::size_t bytes_of(std::uint32_t width, std::uint32_t height, const Header& header) {
  return std::size_t{width} * height * header.channels * (header.bits / 8U);
}

void append(const Image& image, std::vector<std::uint8_t>& bytes) {
  if (image.bits == 16) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(image.samples.data());
    bytes.insert(bytes.end(), begin, begin + 2 * image.samples.size());
  } else {
    bytes.insert(bytes.end(), image.samples.begin(), image.samples.end());
  }
}

Image take(std::uint32_t width, std::uint32_t height, const Header& header, std::span<const std::uint8_t>& bytes) {
  Image image{static_cast<int>(width), static_cast<int>(height), header.channels, header.bits, {}};
  const std::size_t size = bytes_of(width, height, header);
  if (header.bits == 16) {
    image.samples.resize(image.count());
    std::memcpy(image.samples.data(), bytes.data(), size);
  } else {
    image.samples.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  }
  bytes = bytes.subspan(size);
  return image;
}

}  // namespace

std::vector<std::uint8_t> encode_record(const Pair& pair) {
  Header header;
  header.high_width = static_cast<std::uint32_t>(pair.high.width);
  header.high_height = static_cast<std::uint32_t>(pair.high.height);
  header.low_width = static_cast<std::uint32_t>(pair.low.width);
  header.low_height = static_cast<std::uint32_t>(pair.low.height);
  header.channels = static_cast<std::uint16_t>(pair.high.channels);
  header.bits = static_cast<std::uint16_t>(pair.high.bits);
  std::vector<std::uint8_t> bytes(sizeof(Header));
  std::memcpy(bytes.data(), &header, sizeof(Header));
  append(pair.high, bytes);
  append(pair.low, bytes);
  header.checksum = checksum_of(bytes);
  std::memcpy(bytes.data(), &header, sizeof(Header));
  return bytes;
}

Pair decode_record(std::span<const std::uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof(Header)) throw RecordError("it is cut short");
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.magic != Header{}.magic) throw RecordError("it is no record of this version");
  if (checksum_of(bytes) != header.checksum) throw RecordError("its checksum is wrong");
  const bool sane = header.channels >= 1 && header.channels <= 4 && (header.bits == 8 || header.bits == 16) &&
                    header.high_width <= kLongestSide && header.high_height <= kLongestSide &&
                    header.low_width <= kLongestSide && header.low_height <= kLongestSide;
  if (!sane || bytes.size() - sizeof(Header) != bytes_of(header.high_width, header.high_height, header) +
                                                    bytes_of(header.low_width, header.low_height, header)) {
    throw RecordError("its sizes are wrong");
  }
  bytes = bytes.subspan(sizeof(Header));
  Image high = take(header.high_width, header.high_height, header, bytes);
  Image low = take(header.low_width, header.low_height, header, bytes);
  return {std::move(high), std::move(low)};
}

}  // namespace anymps::superres::files
