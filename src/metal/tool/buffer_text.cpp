#include "metal/tool/buffer_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <string>

#include "gpu/philox.h"
#include "gpu/support/round_up.h"
#include "gpu/support/whole_number.h"
#include "metal/tool/file_bytes.h"
#include "metal/tool/npy.h"

namespace anymps::metal::tool {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 31U;  // of one buffer; the process has 4 GiB
constexpr std::uint32_t kRandomWholes = 100;

struct FillingEntry {
  std::string_view name;
  Filling filling;
};
constexpr std::array kFillings = {FillingEntry{"zeros", Filling::kZeros}, FillingEntry{"ones", Filling::kOnes},
                                  FillingEntry{"iota", Filling::kIota}, FillingEntry{"random", Filling::kRandom}};

Number number_for(Filling filling, Scalar scalar, std::uint64_t index, std::uint64_t seed, std::uint64_t stream) {
  switch (filling) {
    case Filling::kZeros:
      return std::uint64_t{0};
    case Filling::kOnes:
      return std::uint64_t{1};
    case Filling::kIota:
      return index;
    case Filling::kRandom:
      break;
  }
  const std::uint32_t bits = gpu::philox(seed, (stream << 40U) + index)[0];
  if (scalar == Scalar::kBool) return std::uint64_t{bits & 1U};
  if (is_floating(scalar)) return 2.0 * gpu::philox_uniform(bits) - 1.0;
  return std::uint64_t{bits % kRandomWholes};
}

AlignedBytes list_of(std::string_view text, const ElementType& type) {
  std::vector<std::byte> scalars;
  const std::string_view whole = text;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    scalars.resize(scalars.size() + size_of(type.scalar));
    put_number(type.scalar, number_of(type.scalar, text.substr(0, comma)),
               scalars.data() + scalars.size() - size_of(type.scalar));
    if (more) text.remove_prefix(comma + 1);
  }
  if (count % type.width != 0) {
    throw RequestError("`" + std::string(whole) + "` has " + std::to_string(count) + " numbers; " + name_of(type) +
                       " takes " + std::to_string(type.width) + " each");
  }
  return AlignedBytes(lay_out(type, scalars));
}

Buffer file_of(const std::string& file, const ElementType& type) {
  Buffer buffer{.type = type, .memory = {}, .shape = {}};
  const std::string asked = "; " + name_of(type) + " is asked for";
  if (!file.ends_with(".npy")) {
    const std::vector<std::byte> bytes = read_bytes(file);
    if (bytes.empty() || bytes.size() % type.stride() != 0) {
      throw RequestError(file + ": " + std::to_string(bytes.size()) + " bytes are no whole number of elements" + asked);
    }
    buffer.memory = AlignedBytes(bytes);
    return buffer;
  }
  NpyArray array = read_npy(file);
  // Nothing but its bytes tells a bfloat in NumPy's files.
  const bool bfloat = type.scalar == Scalar::kBf16 && array.scalar == Scalar::kU16;
  if (array.scalar != type.scalar && !bfloat) {
    const std::string held = name_of({array.scalar});
    throw RequestError(file + ": it holds " + held + asked + " (to pass it as it is: " + held + ":@" + file + ")");
  }
  const std::size_t element = size_of(type.scalar) * type.width;
  if (array.bytes.empty() || array.bytes.size() % element != 0) {
    throw RequestError(file + ": " + std::to_string(array.bytes.size() / size_of(type.scalar)) +
                       " numbers are no whole number of elements" + asked);
  }
  buffer.memory = AlignedBytes(lay_out(type, array.bytes));
  buffer.shape = std::move(array.shape);
  return buffer;
}

// "half:zeros:16" has a type, "zeros:16" has none.
std::optional<ElementType> take_type(std::string_view& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto type = element_type(text.substr(0, colon));
  if (type) text.remove_prefix(colon + 1);
  return type;
}

// Where "uint:3+float:0.5" has its plus; not that of "1e+5".
std::size_t find_plus(std::string_view text) {
  for (std::size_t at = text.find('+'); at != std::string_view::npos; at = text.find('+', at + 1)) {
    std::string_view rest = text.substr(at + 1);
    if (take_type(rest)) return at;
  }
  return std::string_view::npos;
}

Buffer one_buffer_of(std::string_view text, const std::optional<ElementType>& of_argument, std::uint64_t seed,
                     std::uint64_t stream) {
  const std::string_view whole = text;
  const auto named = take_type(text);
  if (!named && !of_argument) {
    throw RequestError("`" + std::string(whole) + "`: say of which type it is, such as float:" + std::string(whole) +
                       "; members of a struct can be joined: uint:3+float:0.5");
  }
  const ElementType type = named ? *named : *of_argument;
  if (text.starts_with('@')) return file_of(std::string(text.substr(1)), type);
  for (const FillingEntry& entry : kFillings) {
    if (!text.starts_with(entry.name) || !text.substr(entry.name.size()).starts_with(':')) continue;
    const auto count = gpu::support::whole_number<std::size_t>(text.substr(entry.name.size() + 1));
    if (!count || *count == 0 || *count > kMostBytes / type.stride()) {
      throw RequestError("`" + std::string(whole) + "`: a number of elements from 1 to " +
                         std::to_string(kMostBytes / type.stride()) + " belongs behind the colon");
    }
    return {.type = type, .memory = filled(entry.filling, type, *count, seed, stream), .shape = {}};
  }
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 && text.find(':') != text.npos) {
    throw RequestError("`" + std::string(whole) + "`: there are zeros:N, ones:N, iota:N, random:N, @FILE and numbers");
  }
  return {.type = type, .memory = list_of(text, type), .shape = {}};
}

}  // namespace

AlignedBytes::AlignedBytes(std::span<const std::byte> bytes)
    : lines_(gpu::support::round_up(bytes.size(), sizeof(Line)) / sizeof(Line)), size_(bytes.size()) {
  if (!bytes.empty()) std::memcpy(data(), bytes.data(), bytes.size());
}

AlignedBytes filled(Filling filling, const ElementType& type, std::size_t count, std::uint64_t seed,
                    std::uint64_t stream) {
  const std::size_t size = size_of(type.scalar);
  std::vector<std::byte> scalars(count * type.width * size);
  for (std::size_t i = 0; i < count * type.width; ++i) {
    put_number(type.scalar, number_for(filling, type.scalar, i, seed, stream), scalars.data() + i * size);
  }
  return AlignedBytes(lay_out(type, scalars));
}

std::vector<std::string> files_in(std::string_view text) {
  std::vector<std::string> files;
  for (bool more = true; more;) {
    const std::size_t plus = find_plus(text);
    more = plus != std::string_view::npos;
    std::string_view part = text.substr(0, plus);
    static_cast<void>(take_type(part));
    if (part.starts_with('@')) files.emplace_back(part.substr(1));
    if (more) text.remove_prefix(plus + 1);
  }
  return files;
}

Buffer buffer_of(std::string_view text, const std::optional<ElementType>& type, std::uint64_t seed,
                 std::uint64_t stream) {
  if (find_plus(text) == std::string_view::npos) return one_buffer_of(text, type, seed, stream);
  std::vector<std::byte> joined;
  std::size_t alignment = 1;
  for (bool more = true; more;) {
    const std::size_t plus = find_plus(text);
    more = plus != std::string_view::npos;
    const Buffer part = one_buffer_of(text.substr(0, plus), type, seed, stream);
    const std::size_t own = part.type.packed ? size_of(part.type.scalar) : part.type.stride();
    alignment = std::max(alignment, own);
    joined.resize(gpu::support::round_up(joined.size(), own));
    joined.insert(joined.end(), part.memory.bytes().begin(), part.memory.bytes().end());
    if (more) text.remove_prefix(plus + 1);
  }
  joined.resize(gpu::support::round_up(joined.size(), alignment));
  return {.type = {Scalar::kU8}, .memory = AlignedBytes(joined), .shape = {}};
}

}  // namespace anymps::metal::tool
