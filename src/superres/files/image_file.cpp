#include "superres/files/image_file.h"

#include <turbojpeg.h>
#include <webp/decode.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "gpu/support/whole_file.h"
#include "superres/files/image_error.h"
#include "superres/files/png_codec.h"

namespace anymps::superres::files {
namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const std::uint8_t>;

bool begins_with(Bytes bytes, std::string_view magic, std::size_t at = 0) {
  return bytes.size() >= at + magic.size() && std::memcmp(bytes.data() + at, magic.data(), magic.size()) == 0;
}

Image from_bytes(int width, int height, int channels, Bytes bytes) {
  Image image{width, height, channels, 8, {}};
  image.samples.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(image.count()));
  return image;
}

struct FreeJpeg {
  void operator()(void* handle) const { tjDestroy(handle); }
};
using Jpeg = std::unique_ptr<void, FreeJpeg>;

Image decode_jpeg(Bytes bytes) {
  const Jpeg jpeg(tjInitDecompress());
  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(jpeg.get(), bytes.data(), bytes.size(), &width, &height, &subsampling, &colours) != 0) {
    throw ImageError(std::string("the JPEG is damaged: ") + tjGetErrorStr2(jpeg.get()));
  }
  check_size(static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height));
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) throw ImageError("a JPEG in CMYK is not taken");
  const bool grey = colours == TJCS_GRAY;
  Image image{width, height, grey ? 1 : 3, 8, {}};
  std::vector<std::uint8_t> samples(image.count());
  // A warning is a file that is damaged or cut short; half a grey picture is no training data.
  if (tjDecompress2(jpeg.get(), bytes.data(), bytes.size(), samples.data(), width, 0, height,
                    grey ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS) != 0) {
    throw ImageError(std::string("the JPEG is damaged: ") + tjGetErrorStr2(jpeg.get()));
  }
  return from_bytes(width, height, image.channels, samples);
}

Image decode_webp(Bytes bytes) {
  WebPBitstreamFeatures features{};
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK) throw ImageError("the WebP is damaged");
  if (features.has_animation != 0) throw ImageError("an animated WebP is not taken");
  check_size(static_cast<std::uint64_t>(features.width), static_cast<std::uint64_t>(features.height));
  const int channels = features.has_alpha != 0 ? 4 : 3;
  Image image{features.width, features.height, channels, 8, {}};
  std::vector<std::uint8_t> samples(image.count());
  const auto decode = channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(bytes.data(), bytes.size(), samples.data(), samples.size(), features.width * channels) == nullptr) {
    throw ImageError("the WebP is damaged");
  }
  return from_bytes(image.width, image.height, channels, samples);
}

}  // namespace

Image decode_image(Bytes bytes) {
  if (bytes.empty()) throw ImageError("the file is empty");
  if (begins_with(bytes, "\x89PNG")) return decode_png(bytes);
  if (begins_with(bytes, "\xff\xd8\xff")) return decode_jpeg(bytes);
  if (begins_with(bytes, "RIFF") && begins_with(bytes, "WEBP", 8)) return decode_webp(bytes);
  throw ImageError("it is no PNG, JPEG or WebP");
}

Image read_image(const fs::path& path) {
  const std::optional<std::string> bytes = gpu::support::read_whole(path);
  if (!bytes) throw ImageError("it cannot be read");
  return decode_image({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
}

std::vector<std::uint8_t> encode_jpeg(const Image& image, int quality) {
  const Jpeg jpeg(tjInitCompress());
  const std::vector<std::uint8_t> samples(image.samples.begin(), image.samples.end());
  unsigned char* made = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): TurboJPEG's own
  const bool grey = image.channels == 1;
  const int result = tjCompress2(jpeg.get(), samples.data(), image.width, 0, image.height, grey ? TJPF_GRAY : TJPF_RGB,
                                 &made, &size, grey ? TJSAMP_GRAY : TJSAMP_420, quality, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, decltype(&tjFree)> kept(made, &tjFree);
  if (result != 0) throw ImageError(std::string("JPEG: ") + tjGetErrorStr2(jpeg.get()));
  return {kept.get(), kept.get() + size};
}

}  // namespace anymps::superres::files
