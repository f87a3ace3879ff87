#include "metal/tool/npy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "gpu/support/round_up.h"
#include "gpu/support/whole_number.h"
#include "metal/tool/file_bytes.h"
#include "metal/tool/request_error.h"

namespace anymps::metal::tool {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kVersionBytes = 2;
constexpr std::size_t kAlignment = 64;

struct Descriptor {
  std::string_view text;  // without the letter of the byte order
  Scalar scalar;
  std::size_t scalars = 1;
};

// Of those for one scalar the first is what is written.
constexpr std::array kDescriptors = {
    Descriptor{"b1", Scalar::kBool},   Descriptor{"i1", Scalar::kI8},   Descriptor{"u1", Scalar::kU8},
    Descriptor{"i2", Scalar::kI16},    Descriptor{"u2", Scalar::kU16},  Descriptor{"i4", Scalar::kI32},
    Descriptor{"u4", Scalar::kU32},    Descriptor{"i8", Scalar::kI64},  Descriptor{"u8", Scalar::kU64},
    Descriptor{"f2", Scalar::kF16},    Descriptor{"V2", Scalar::kBf16}, Descriptor{"f4", Scalar::kF32},
    Descriptor{"c8", Scalar::kF32, 2},
};

// The header is a Python dict, of which NumPy writes this much and no more:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class Header {
 public:
  Header(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  std::string_view after(std::string_view key) const {
    const std::size_t at = text_.find("'" + std::string(key) + "'");
    const std::size_t colon = at == std::string_view::npos ? at : text_.find(':', at);
    if (colon == std::string_view::npos) refuse_file(file_, "its header names no " + std::string(key));
    const std::string_view rest = text_.substr(colon + 1);
    return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  }

  std::string_view between(std::string_view key, char open, char close) const {
    const std::string_view rest = after(key);
    const std::size_t end = rest.find(close, 1);
    if (!rest.starts_with(open) || end == std::string_view::npos) {
      refuse_file(file_, "the " + std::string(key) + " in its header is not one that is known here");
    }
    return rest.substr(1, end - 1);
  }

 private:
  const std::string& file_;
  std::string_view text_;
};

const Descriptor& descriptor_of(const std::string& file, std::string_view text) {
  const auto known = std::ranges::find_if(kDescriptors, [&](const Descriptor& d) { return text.substr(1) == d.text; });
  if (text.empty() || text[0] == '>' || known == kDescriptors.end()) {
    refuse_file(file, "it holds `" + std::string(text) + "`, which Metal has no type for");
  }
  return *known;
}

std::vector<std::size_t> shape_of(const std::string& file, std::string_view text) {
  std::vector<std::size_t> shape;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    if (word.empty()) continue;
    const auto extent = gpu::support::whole_number<std::size_t>(word);
    if (!extent) refuse_file(file, "its shape has `" + std::string(word) + "` in it");
    shape.push_back(*extent);
  }
  return shape;
}

std::size_t product_of(const std::string& file, const std::vector<std::size_t>& shape, std::size_t size) {
  for (const std::size_t extent : shape) {
    if (extent != 0 && size > std::numeric_limits<std::size_t>::max() / extent)
      refuse_file(file, "its shape overflows");
    size *= extent;
  }
  return size;
}

std::string shape_text(const std::vector<std::size_t>& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape) text += std::to_string(extent) + ", ";
  if (shape.size() > 1) text.resize(text.size() - 2);
  return text + ")";
}

}  // namespace

NpyArray read_npy(const std::string& file) {
  const std::vector<std::byte> whole = read_bytes(file);
  const std::string_view text(reinterpret_cast<const char*>(whole.data()), whole.size());
  std::size_t at = kMagic.size() + kVersionBytes;
  if (!text.starts_with(kMagic) || text.size() < at + 4)
    refuse_file(file, "not a NumPy array: it does not begin as one");
  const unsigned version = std::to_integer<unsigned>(whole[kMagic.size()]);
  if (version < 1 || version > 3)
    refuse_file(file, "version " + std::to_string(version) + " of .npy is not known here");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= std::to_integer<std::size_t>(whole[at + i]) << (8 * i);
  at += length_bytes;
  if (length > text.size() - at) refuse_file(file, "it ends within its header");
  const Header header(file, text.substr(at, length));
  at += length;

  const Descriptor& descriptor = descriptor_of(file, header.between("descr", '\'', '\''));
  NpyArray array;
  array.scalar = descriptor.scalar;
  array.shape = shape_of(file, header.between("shape", '(', ')'));
  if (!header.after("fortran_order").starts_with("False") && array.shape.size() > 1) {
    refuse_file(file, "its axes are in Fortran's order; save numpy.ascontiguousarray of it");
  }
  const std::size_t bytes = product_of(file, array.shape, size_of(descriptor.scalar) * descriptor.scalars);
  if (bytes != text.size() - at) {
    refuse_file(file, "its shape " + shape_text(array.shape) + " asks for " + std::to_string(bytes) +
                          " bytes; there are " + std::to_string(text.size() - at));
  }
  if (descriptor.scalars != 1) array.shape.push_back(descriptor.scalars);
  array.bytes.assign(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end());
  return array;
}

std::vector<std::byte> npy_of(const NpyArray& array) {
  const auto descriptor = std::ranges::find(kDescriptors, array.scalar, &Descriptor::scalar);
  std::string header = "{'descr': '" + std::string(size_of(array.scalar) == 1 ? "|" : "<") +
                       std::string(descriptor->text) +
                       "', 'fortran_order': False, 'shape': " + shape_text(array.shape) + ", }";
  constexpr std::size_t kBefore = kMagic.size() + kVersionBytes + 2;
  header.resize(gpu::support::round_up(kBefore + header.size() + 1, kAlignment) - kBefore - 1, ' ');
  header += '\n';
  std::string text(kMagic);
  text += {'\x01', '\x00', static_cast<char>(header.size() & 0xffU), static_cast<char>(header.size() >> 8U)};
  text += header;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  std::vector<std::byte> whole(begin, begin + text.size());
  whole.insert(whole.end(), array.bytes.begin(), array.bytes.end());
  return whole;
}

}  // namespace anymps::metal::tool
