#include "superres/files/png_codec.h"

#include <png.h>

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "superres/files/image_error.h"

namespace anymps::superres::files {
namespace {

// libpng leaves by longjmp, which skips destructors: whatever has one lives in these two, outside the functions that
// libpng is called from.
struct Reading {
  std::span<const std::uint8_t> left;
  std::string error;
  Image image;
  std::vector<std::uint8_t> rows;
  std::vector<png_bytep> row_begins;
};

struct Writing {
  std::vector<std::uint8_t> bytes;
  std::string error;
  std::vector<std::uint8_t> rows;
  std::vector<png_bytep> row_begins;
};

template <typename State>
void fail(png_structp png, png_const_charp text) {
  static_cast<State*>(png_get_error_ptr(png))->error = text;
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

void take_some(png_structp png, png_bytep into, std::size_t size) {
  auto& reading = *static_cast<Reading*>(png_get_io_ptr(png));
  if (size > reading.left.size()) png_error(png, "the file ends too early");
  std::memcpy(into, reading.left.data(), size);
  reading.left = reading.left.subspan(size);
}

void give_some(png_structp png, png_bytep from, std::size_t size) {
  auto& bytes = static_cast<Writing*>(png_get_io_ptr(png))->bytes;
  bytes.insert(bytes.end(), from, from + size);
}

void flush_nothing(png_structp) {}

template <typename State>
void point_at_rows(State& state, std::size_t stride, std::size_t height) {
  state.row_begins.resize(height);
  for (std::size_t row = 0; row < height; ++row) state.row_begins[row] = state.rows.data() + row * stride;
}

bool read(png_structp png, png_infop info, Reading& reading) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_read_fn(png, &reading, take_some);
  png_read_info(png, info);
  try {
    check_size(png_get_image_width(png, info), png_get_image_height(png, info));
  } catch (const ImageError& error) {
    reading.error = error.what();
    return false;
  }
  png_set_expand(png);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  reading.image = {static_cast<int>(png_get_image_width(png, info)),
                   static_cast<int>(png_get_image_height(png, info)),
                   png_get_channels(png, info),
                   png_get_bit_depth(png, info),
                   {}};
  const std::size_t stride = png_get_rowbytes(png, info);
  reading.rows.resize(stride * static_cast<std::size_t>(reading.image.height));
  point_at_rows(reading, stride, static_cast<std::size_t>(reading.image.height));
  png_read_image(png, reading.row_begins.data());
  png_read_end(png, nullptr);
  return true;
}

bool write(png_structp png, png_infop info, const Image& image, Writing& writing) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_write_fn(png, &writing, give_some, flush_nothing);
  constexpr std::array kTypes = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
  png_set_IHDR(png, info, static_cast<png_uint_32>(image.width), static_cast<png_uint_32>(image.height), image.bits,
               kTypes[static_cast<std::size_t>(image.channels - 1)], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  if constexpr (std::endian::native == std::endian::little) png_set_swap(png);
  png_write_image(png, writing.row_begins.data());
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

Image decode_png(std::span<const std::uint8_t> bytes) {
  Reading reading;
  reading.left = bytes;
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, fail<Reading>, ignore);
  png_infop info = png_create_info_struct(png);
  const bool whole = read(png, info, reading);
  png_destroy_read_struct(&png, &info, nullptr);
  if (!whole) throw ImageError("the PNG is damaged: " + reading.error);
  Image& image = reading.image;
  if (image.bits == 16) {
    image.samples.resize(image.count());
    std::memcpy(image.samples.data(), reading.rows.data(), reading.rows.size());
  } else {
    image.samples.assign(reading.rows.begin(), reading.rows.end());
  }
  return std::move(image);
}

std::vector<std::uint8_t> encode_png(const Image& image) {
  Writing writing;
  if (image.bits == 16) {
    writing.rows.resize(2 * image.count());
    std::memcpy(writing.rows.data(), image.samples.data(), writing.rows.size());
  } else {
    writing.rows.assign(image.samples.begin(), image.samples.end());
  }
  const auto height = static_cast<std::size_t>(image.height);
  point_at_rows(writing, writing.rows.size() / height, height);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &writing, fail<Writing>, ignore);
  png_infop info = png_create_info_struct(png);
  const bool whole = write(png, info, image, writing);
  png_destroy_write_struct(&png, &info);
  if (!whole) throw ImageError("PNG: " + writing.error);
  return std::move(writing.bytes);
}

}  // namespace anymps::superres::files
