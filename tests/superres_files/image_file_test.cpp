#include "superres/files/image_file.h"

#include <gtest/gtest.h>

#include "superres/files/png_codec.h"

namespace anymps::superres {
namespace {

files::Image gradient(int channels, int bits) {
  files::Image image;
  image.width = 9;
  image.height = 5;
  image.channels = channels;
  image.bits = bits;
  for (int i = 0; i < 9 * 5 * channels; ++i) {
    image.samples.push_back(static_cast<std::uint16_t>((bits == 16 ? 257 : 1) * (i % 256)));
  }
  return image;
}

TEST(ImageFile, PngComesBack) {
  for (const int channels : {1, 2, 3, 4}) {
    for (const int bits : {8, 16}) {
      const files::Image image = gradient(channels, bits);
      const files::Image again = files::decode_image(files::encode_png(image));
      EXPECT_EQ(again.samples, image.samples);
      EXPECT_EQ(again.channels, channels);
      EXPECT_EQ(again.bits, bits);
    }
  }
}

TEST(ImageFile, EachShorterPictureIsRefusedOrWhole) {
  for (const std::vector<std::uint8_t>& whole :
       {files::encode_png(gradient(3, 8)), files::encode_jpeg(gradient(3, 8), 90)}) {
    for (std::size_t size = 0; size < whole.size() - 16; ++size) {
      EXPECT_THROW(files::decode_image(std::span(whole).first(size)), files::ImageError) << size;
    }
  }
}

TEST(ImageFile, AHugeClaimTakesNoMemory) {
  std::vector<std::uint8_t> png = files::encode_png(gradient(3, 8));
  png[16] = 0x7f;  // the width's highest byte, in the first chunk
  EXPECT_THROW(files::decode_image(png), files::ImageError);
}

}  // namespace
}  // namespace anymps::superres
