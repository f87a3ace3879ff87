#include "superres/files/record.h"

#include <gtest/gtest.h>

#include <numeric>

namespace anymps::superres {
namespace {

files::Image image_of(int width, int height, int channels, int bits) {
  files::Image image;
  image.width = width;
  image.height = height;
  image.channels = channels;
  image.bits = bits;
  image.samples.resize(static_cast<std::size_t>(width * height * channels));
  std::iota(image.samples.begin(), image.samples.end(), std::uint16_t{7});
  if (bits == 8) {
    for (std::uint16_t& sample : image.samples) sample &= 255;
  }
  return image;
}

TEST(Record, ComesBack) {
  for (const int bits : {8, 16}) {
    const files::Pair pair{image_of(6, 4, 3, bits), image_of(3, 2, 3, bits)};
    const files::Pair again = files::decode_record(files::encode_record(pair));
    EXPECT_EQ(again.high.samples, pair.high.samples);
    EXPECT_EQ(again.low.samples, pair.low.samples);
    EXPECT_EQ(again.low.width, 3);
    EXPECT_EQ(again.high.bits, bits);
  }
}

TEST(Record, EachChangedByteIsSeen) {
  const std::vector<std::uint8_t> whole = files::encode_record({image_of(4, 4, 3, 8), image_of(2, 2, 3, 8)});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::uint8_t> changed = whole;
    changed[i] ^= 0x40;
    EXPECT_THROW(files::decode_record(changed), files::RecordError) << i;
  }
}

TEST(Record, EachShorterOneIsRefused) {
  const std::vector<std::uint8_t> whole = files::encode_record({image_of(4, 4, 3, 8), image_of(2, 2, 3, 8)});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(files::decode_record(std::span(whole).first(size)), files::RecordError) << size;
  }
}

}  // namespace
}  // namespace anymps::superres
