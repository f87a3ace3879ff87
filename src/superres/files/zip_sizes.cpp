#include "superres/files/zip_sizes.h"

#include <algorithm>
#include <cstring>

namespace anymps::superres::files {
namespace {

// Offsets and marks of the ZIP format (PKWARE's APPNOTE, 4.3.12 to 4.3.16 and 4.5.3).
constexpr std::string_view kEnd = "PK\5\6";
constexpr std::string_view kLargeEnd = "PK\6\6";
constexpr std::string_view kLargeEndPlace = "PK\6\7";
constexpr std::string_view kEntry = "PK\1\2";
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLargeEndBytes = 56;
constexpr std::size_t kLargeEndPlaceBytes = 20;
constexpr std::size_t kEntryBytes = 46;
constexpr std::size_t kLongestComment = 0xffff;
constexpr std::uint32_t kInTheExtra = 0xffffffff;
constexpr std::uint16_t kLargeSizes = 1;

struct Damaged {};

template <typename T>
T number(std::string_view bytes, std::size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) throw Damaged();
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof(T));  // as the format has it: little-endian, as this machine
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || bytes.size() - at < size) throw Damaged();
  return bytes.substr(at, size);
}

std::string_view directory_of(std::string_view zip) {
  const std::size_t searched = std::min(zip.size(), kEndBytes + kLongestComment);
  const std::size_t found = zip.substr(zip.size() - searched).rfind(kEnd);
  if (found == std::string_view::npos) throw Damaged();
  const std::size_t end = zip.size() - searched + found;
  if (end >= kLargeEndPlaceBytes && zip.substr(end - kLargeEndPlaceBytes).starts_with(kLargeEndPlace)) {
    const auto large = number<std::uint64_t>(zip, end - kLargeEndPlaceBytes + 8);
    if (!part(zip, large, kLargeEndBytes).starts_with(kLargeEnd)) throw Damaged();
    return part(zip, number<std::uint64_t>(zip, large + 48), number<std::uint64_t>(zip, large + 40));
  }
  return part(zip, number<std::uint32_t>(zip, end + 16), number<std::uint32_t>(zip, end + 12));
}

// Behind the name come extras: a kind, a length and so many bytes.
std::uint64_t large_size(std::string_view extras) {
  while (!extras.empty()) {
    const auto kind = number<std::uint16_t>(extras, 0);
    const auto length = number<std::uint16_t>(extras, 2);
    if (kind == kLargeSizes) return number<std::uint64_t>(extras, 4);
    extras.remove_prefix(std::min<std::size_t>(extras.size(), 4U + length));
  }
  throw Damaged();
}

}  // namespace

std::optional<std::uint64_t> unfolded_size(std::string_view zip) {
  try {
    std::string_view rest = directory_of(zip);
    std::uint64_t sum = 0;
    while (rest.starts_with(kEntry)) {
      std::uint64_t size = number<std::uint32_t>(rest, 24);
      const auto name = number<std::uint16_t>(rest, 28);
      const auto extra = number<std::uint16_t>(rest, 30);
      const auto comment = number<std::uint16_t>(rest, 32);
      if (size == kInTheExtra) size = large_size(part(rest, kEntryBytes + name, extra));
      if (__builtin_add_overflow(sum, size, &sum)) throw Damaged();
      rest.remove_prefix(part(rest, 0, std::uint64_t{kEntryBytes} + name + extra + comment).size());
    }
    return rest.empty() ? std::optional(sum) : std::nullopt;
  } catch (const Damaged&) {
    return std::nullopt;
  }
}

}  // namespace anymps::superres::files
