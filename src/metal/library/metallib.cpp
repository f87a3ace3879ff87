#include "metal/library/metallib.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>

#include "metal/library/metallib_format.h"

namespace anymps::metal::library {
namespace {

constexpr std::string_view kMagic = "MTLB";
constexpr std::uint64_t kTagLetters = 4;
constexpr std::uint64_t kSizeAt = 16;
constexpr std::uint64_t kFunctionListAt = 24;
constexpr std::uint64_t kBitcodeAt = 72;
constexpr std::uint64_t kSmallestEntry = 4 + kTagLetters;  // its size and ENDT

[[noreturn]] void refuse(std::uint64_t offset, const std::string& why) {
  throw MetallibError("offset " + std::to_string(offset) + ": " + why);
}

// Tags and magics may be any bytes in a damaged file.
std::string in_ticks(std::string_view text) {
  std::string result = "`";
  for (const char c : text) result += c > 0x20 && c < 0x7f ? c : '?';
  return result + "`";
}

// A range of the file. Offsets are the file's own, so that errors can name them; reads outside of the range throw.
class FileRange {
 public:
  explicit FileRange(std::span<const std::byte> file) : file_(file), end_(file.size()) {}

  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::uint64_t size() const { return end_ - begin_; }

  // Subtracts instead of adding: a sum of numbers from the file may wrap around.
  bool has(std::uint64_t offset, std::uint64_t size) const {
    return offset >= begin_ && offset <= end_ && size <= end_ - offset;
  }
  FileRange part(std::uint64_t offset, std::uint64_t size, std::string_view what) const {
    if (!has(offset, size)) {
      refuse(offset, std::string(what) + " of " + std::to_string(size) + " bytes does not lie within bytes " +
                         std::to_string(begin_) + " to " + std::to_string(end_));
    }
    FileRange result = *this;
    result.begin_ = offset;
    result.end_ = offset + size;
    return result;
  }
  std::span<const std::byte> span() const {
    return file_.subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size()));
  }
  std::string_view text(std::uint64_t offset, std::uint64_t size, std::string_view what) const {
    const auto bytes = part(offset, size, what).span();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <typename T>
  T number(std::uint64_t offset, std::string_view what) const {
    T value = 0;
    const auto bytes = part(offset, sizeof(T), what).span();
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes[i]) << (8 * i)));
    }
    return value;
  }

 private:
  std::span<const std::byte> file_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_;
};

struct Sections {
  FileRange functions;  // the entries, without their count
  std::uint32_t count;
  FileRange bitcode;
};

Sections read_header(const FileRange& file) {
  if (file.text(0, std::min<std::uint64_t>(kMagic.size(), file.size()), "magic") != kMagic) {
    refuse(0, "not a Metal library: it does not begin with MTLB");
  }
  if (file.size() < kMetallibHeaderBytes) {
    refuse(file.size(), "the file ends within the header of " + std::to_string(kMetallibHeaderBytes) + " bytes");
  }
  const auto size = file.number<std::uint64_t>(kSizeAt, "library size");
  if (size < kMetallibHeaderBytes || size > file.size()) {
    refuse(kSizeAt,
           "the library says that it has " + std::to_string(size) + " bytes; there are " + std::to_string(file.size()));
  }
  const FileRange body = file.part(kMetallibHeaderBytes, size - kMetallibHeaderBytes, "library");
  const auto list_offset = file.number<std::uint64_t>(kFunctionListAt, "offset of the function list");
  const auto list_size = file.number<std::uint64_t>(kFunctionListAt + 8, "size of the function list");
  const auto count = body.number<std::uint32_t>(list_offset, "count of functions");
  const FileRange list = body.part(list_offset + kFunctionCountBytes, list_size, "function list");
  // Before anything is reserved for them.
  if (count > list.size() / kSmallestEntry) {
    refuse(list_offset,
           std::to_string(count) + " functions do not fit into a list of " + std::to_string(list.size()) + " bytes");
  }
  const FileRange bitcode =
      body.part(file.number<std::uint64_t>(kBitcodeAt, "offset of the bitcode"),
                file.number<std::uint64_t>(kBitcodeAt + 8, "size of the bitcode"), "bitcode section");
  if (bitcode.size() != 0 && bitcode.begin() < list.end() && list_offset < bitcode.end()) {
    refuse(kBitcodeAt, "the bitcode section overlaps the function list");
  }
  return {list, count, bitcode};
}

// The tags of one entry that are needed here, each at most once. Others (tessellation, reflection, sources) are
// skipped.
struct Tags {
  std::optional<FileRange> name, type, hash, bitcode_size, offsets, versions;
};

std::optional<FileRange>* slot_of(std::string_view letters, Tags& tags) {
  if (letters == "NAME") return &tags.name;
  if (letters == "TYPE") return &tags.type;
  if (letters == "HASH") return &tags.hash;
  if (letters == "MDSZ") return &tags.bitcode_size;
  if (letters == "OFFT") return &tags.offsets;
  if (letters == "VERS") return &tags.versions;
  return nullptr;
}

Tags read_tags(const FileRange& entry) {
  Tags tags;
  std::uint64_t at = entry.begin() + 4;
  while (true) {
    const std::string_view letters = entry.text(at, kTagLetters, "tag");
    if (letters == kEndTag) break;
    const auto length = entry.number<std::uint16_t>(at + kTagLetters, "length of tag " + in_ticks(letters));
    const FileRange value = entry.part(at + kTagLetters + 2, length, "tag " + in_ticks(letters));
    if (std::optional<FileRange>* slot = slot_of(letters, tags)) {
      if (slot->has_value()) refuse(at, "tag " + in_ticks(letters) + " occurs twice in one function");
      *slot = value;
    }
    at = value.end();
  }
  at += kTagLetters;
  if (at != entry.end()) refuse(at, "the function's entry goes on after its end tag");
  return tags;
}

const FileRange& needed(const std::optional<FileRange>& tag, std::string_view letters, const FileRange& entry) {
  if (!tag) refuse(entry.begin(), "the function has no tag " + in_ticks(letters));
  return *tag;
}

void check_length(const FileRange& tag, std::string_view letters, std::uint64_t length) {
  if (tag.size() != length) {
    refuse(tag.begin(), "tag " + in_ticks(letters) + " has " + std::to_string(tag.size()) + " bytes instead of " +
                            std::to_string(length));
  }
}

std::string read_name(const FileRange& tag) {
  const std::string_view text = tag.text(tag.begin(), tag.size(), "name");
  if (text.size() < 2 || text.find('\0') != text.size() - 1) {
    refuse(tag.begin(), "the function's name is empty or does not end with its only zero");
  }
  return std::string(text.substr(0, text.size() - 1));
}

FunctionEntry read_entry(const FileRange& entry, const FileRange& bitcode) {
  const Tags tags = read_tags(entry);
  FunctionEntry function;
  function.name = read_name(needed(tags.name, "NAME", entry));

  const FileRange& type = needed(tags.type, "TYPE", entry);
  check_length(type, "TYPE", 1);
  function.type = static_cast<FunctionType>(type.number<std::uint8_t>(type.begin(), "type"));

  const FileRange& size = needed(tags.bitcode_size, "MDSZ", entry);
  check_length(size, "MDSZ", 8);
  const FileRange& offsets = needed(tags.offsets, "OFFT", entry);
  check_length(offsets, "OFFT", 24);  // into public metadata, private metadata, bitcode
  const auto bitcode_size = size.number<std::uint64_t>(size.begin(), "bitcode size");
  const auto offset = offsets.number<std::uint64_t>(offsets.begin() + 16, "bitcode offset");
  if (offset > bitcode.size() || bitcode_size > bitcode.size() - offset) {
    refuse(offsets.begin() + 16, "the bitcode of " + in_ticks(function.name) + " (" + std::to_string(bitcode_size) +
                                     " bytes at " + std::to_string(offset) + ") does not lie within its section of " +
                                     std::to_string(bitcode.size()) + " bytes");
  }
  function.bitcode = bitcode.part(bitcode.begin() + offset, bitcode_size, "bitcode").span();

  if (tags.hash) {
    check_length(*tags.hash, "HASH", function.hash.size());
    std::ranges::transform(tags.hash->span(), function.hash.begin(),
                           [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  }
  if (tags.versions) {
    check_length(*tags.versions, "VERS", 8);
    const auto half = [&](std::uint64_t i) {
      return tags.versions->number<std::uint16_t>(tags.versions->begin() + 2 * i, "version");
    };
    function.versions = {half(0), half(1), half(2), half(3)};
  }
  return function;
}

}  // namespace

std::string name_of(FunctionType type) {
  switch (type) {
    case FunctionType::kVertex:
      return "vertex";
    case FunctionType::kFragment:
      return "fragment";
    case FunctionType::kKernel:
      return "kernel";
    case FunctionType::kUnqualified:
      return "unqualified";
    case FunctionType::kVisible:
      return "visible";
    case FunctionType::kExtern:
      return "extern";
    case FunctionType::kIntersection:
      return "intersection";
  }
  return "type " + std::to_string(static_cast<unsigned>(type));
}

Metallib::Metallib(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
  const Sections sections = read_header(FileRange(bytes_));
  functions_.reserve(sections.count);
  std::uint64_t at = sections.functions.begin();
  for (std::uint32_t i = 0; i < sections.count; ++i) {
    const auto size = sections.functions.number<std::uint32_t>(at, "size of a function's entry");
    if (size < kSmallestEntry) refuse(at, "a function's entry has only " + std::to_string(size) + " bytes");
    const FileRange entry = sections.functions.part(at, size, "function's entry");
    functions_.push_back(read_entry(entry, sections.bitcode));
    at = entry.end();
  }
  if (at != sections.functions.end()) refuse(at, "the function list goes on after its last function");
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    if (!by_name_.emplace(functions_[i].name, i).second) {
      throw MetallibError("two functions are named " + in_ticks(functions_[i].name));
    }
  }
}

Metallib Metallib::from_bytes(std::vector<std::byte> bytes) { return Metallib(std::move(bytes)); }

Metallib Metallib::from_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw MetallibError(error ? error.message() : std::string("not a regular file"));
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error) throw MetallibError(error.message());
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  if (!file || !file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) {
    throw MetallibError("cannot be read");
  }
  return from_bytes(std::move(bytes));
}

const FunctionEntry* Metallib::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &functions_[found->second];
}

}  // namespace anymps::metal::library
