// libFuzzer on what `anymps sr` reads without libtorch: the first byte says which reader, the rest is the file. Each
// reads or refuses, and what it takes keeps to what it says of itself.
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "superres/files/image_file.h"
#include "superres/files/pickle.h"
#include "superres/files/record.h"
#include "superres/files/safetensors.h"

namespace {

using namespace anymps::superres::files;

void check(bool holds) {
  if (!holds) __builtin_trap();
}

void read_pickle(std::string_view bytes) {
  try {
    const Pickle pickle(bytes);
    for (const auto& [key, value] : pickle.value().entries) check(key != nullptr && value != nullptr);
  } catch (const PickleError&) {
  }
}

void read_safetensors(std::string_view bytes) {
  try {
    for (const SafetensorsEntry& entry : parse_safetensors(bytes).entries) {
      check(entry.bytes.data() >= bytes.data() && entry.bytes.end() <= bytes.end());
    }
  } catch (const SafetensorsError&) {
  }
}

void read_picture(std::span<const std::uint8_t> bytes) {
  try {
    const Image image = decode_image(bytes);
    check(image.samples.size() == image.count());
  } catch (const ImageError&) {
  }
}

// With its checksum put right, without which nothing would come through.
void read_record(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint8_t> record(bytes.begin(), bytes.end());
  constexpr std::size_t kSummedFrom = 8;
  if (record.size() > kSummedFrom) {
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, record.data() + kSummedFrom, record.size() - kSummedFrom));
    std::memcpy(record.data() + 4, &sum, sizeof(sum));
  }
  try {
    const Pair pair = decode_record(record);
    check(pair.high.samples.size() == pair.high.count() && pair.low.samples.size() == pair.low.count());
  } catch (const RecordError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span<const std::uint8_t> bytes(data + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0]) {
    case 'p':
      read_pickle(text);
      break;
    case 's':
      read_safetensors(text);
      break;
    case 'i':
      read_picture(bytes);
      break;
    case 'r':
      read_record(bytes);
      break;
    default:
      break;
  }
  return 0;
}
