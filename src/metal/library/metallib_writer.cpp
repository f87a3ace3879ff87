#include "metal/library/metallib_writer.h"

#include <limits>
#include <string_view>
#include <unordered_set>

#include "gpu/support/sha256.h"
#include "metal/library/metallib_format.h"

namespace anymps::metal::library {
namespace {

constexpr std::uint16_t kMacOs = 0x8001;  // the highest bit: a Mac, not one of its relatives
constexpr std::uint16_t kFormat = 2;
constexpr std::uint8_t kExecutable = 0;  // not a dynamic library
constexpr std::uint8_t kOs = 0x81;       // macOS once more, with 0x80 as above
// Neither section of metadata says anything of a kernel: debug information and reflection are not written.
constexpr std::uint32_t kNoMetadata = kEndTag.size();

class ByteWriter {
 public:
  template <typename T>
  ByteWriter& number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  ByteWriter& text(std::string_view text) {
    return append({reinterpret_cast<const std::byte*>(text.data()), text.size()});
  }
  ByteWriter& append(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  ByteWriter& tag(std::string_view letters, const ByteWriter& value) {
    return text(letters).number(static_cast<std::uint16_t>(value.size())).append(value.bytes_);
  }

  std::uint64_t size() const { return bytes_.size(); }
  std::span<const std::byte> span() const { return bytes_; }
  void reserve(std::size_t size) { bytes_.reserve(size); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

void check_name(const std::string& name) {
  // With its zero.
  const bool fits = name.size() < std::numeric_limits<std::uint16_t>::max();
  if (fits && !name.empty() && name.find('\0') == std::string::npos) return;
  throw MetallibError("a function's name is empty, has a zero in it or is longer than 65,534 bytes");
}

ByteWriter entry_of(const FunctionEntry& function, std::uint64_t metadata_offset, std::uint64_t bitcode_offset) {
  const FunctionVersions& versions = function.versions;
  ByteWriter tags;
  tags.tag("NAME", ByteWriter().text(function.name).number(std::uint8_t{0}));
  tags.tag("TYPE", ByteWriter().number(static_cast<std::uint8_t>(function.type)));
  tags.tag("HASH", ByteWriter().append(gpu::support::Sha256().update(function.bitcode).finish()));
  tags.tag("MDSZ", ByteWriter().number(std::uint64_t{function.bitcode.size()}));
  tags.tag("OFFT", ByteWriter().number(metadata_offset).number(metadata_offset).number(bitcode_offset));
  tags.tag("VERS", ByteWriter()
                       .number(versions.air_major)
                       .number(versions.air_minor)
                       .number(versions.metal_major)
                       .number(versions.metal_minor));
  tags.text(kEndTag);
  // Its size counts itself.
  return std::move(
      ByteWriter().number(static_cast<std::uint32_t>(sizeof(std::uint32_t) + tags.size())).append(tags.span()));
}

}  // namespace

std::vector<std::byte> write_metallib(std::span<const FunctionEntry> functions, const LibraryTarget& target) {
  ByteWriter entries;
  ByteWriter metadata;
  std::uint64_t bitcode_bytes = 0;
  std::unordered_set<std::string_view> names;
  for (const FunctionEntry& function : functions) {
    check_name(function.name);
    if (!names.insert(function.name).second) throw MetallibError("two functions are named `" + function.name + "`");
    entries.append(entry_of(function, metadata.size(), bitcode_bytes).span());
    metadata.number(kNoMetadata).text(kEndTag);
    bitcode_bytes += function.bitcode.size();
  }
  const std::uint64_t public_at = kMetallibHeaderBytes + kFunctionCountBytes + entries.size() + kEndTag.size();
  const std::uint64_t private_at = public_at + metadata.size();
  const std::uint64_t bitcode_at = private_at + metadata.size();

  ByteWriter file;
  file.reserve(static_cast<std::size_t>(bitcode_at + bitcode_bytes));
  file.text("MTLB").number(kMacOs).number(kFormat).number(target.format_minor).number(kExecutable).number(kOs);
  file.number(target.macos_major).number(target.macos_minor);
  file.number(bitcode_at + bitcode_bytes);
  file.number(kMetallibHeaderBytes).number(entries.size());  // the count before the entries is not counted
  file.number(public_at).number(metadata.size());
  file.number(private_at).number(metadata.size());
  file.number(bitcode_at).number(bitcode_bytes);
  file.number(static_cast<std::uint32_t>(functions.size())).append(entries.span());
  file.text(kEndTag);  // no extensions of the header
  file.append(metadata.span()).append(metadata.span());
  for (const FunctionEntry& function : functions) file.append(function.bitcode);
  return file.take();
}

}  // namespace anymps::metal::library
