// Writes .metallib containers as Apple's linker lays them out, for tests and for the seeds of the fuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace anymps::metal {

using ByteVector = std::vector<std::byte>;

template <typename T>
void put_at(ByteVector& bytes, std::size_t offset, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes.at(offset + i) = static_cast<std::byte>(value >> (8 * i));
}

template <typename T>
void append(ByteVector& bytes, T value) {
  bytes.resize(bytes.size() + sizeof(T));
  put_at(bytes, bytes.size() - sizeof(T), value);
}

inline void append(ByteVector& bytes, std::string_view text) {
  for (const char c : text) bytes.push_back(static_cast<std::byte>(c));
}

struct Tag {
  std::string letters;
  ByteVector value;
};

struct TestFunction {
  std::string name;
  std::string bitcode;
  std::uint8_t type = 2;
  std::vector<Tag> more = {};  // after those that every function has
};

inline constexpr std::size_t kTestHeaderBytes = 88;

namespace detail {

inline void append(ByteVector& entry, const Tag& tag) {
  metal::append(entry, std::string_view(tag.letters));
  metal::append(entry, static_cast<std::uint16_t>(tag.value.size()));
  entry.insert(entry.end(), tag.value.begin(), tag.value.end());
}

template <typename... Values>
ByteVector bytes_of(Values... values) {
  ByteVector bytes;
  (metal::append(bytes, values), ...);
  return bytes;
}

inline ByteVector entry_of(const TestFunction& function, std::uint64_t metadata, std::uint64_t bitcode) {
  ByteVector entry(4);
  append(entry, {"NAME", bytes_of(std::string_view(function.name), std::uint8_t{0})});
  append(entry, {"TYPE", bytes_of(function.type)});
  append(entry, {"HASH", ByteVector(32, std::byte{0xab})});
  append(entry, {"MDSZ", bytes_of(std::uint64_t{function.bitcode.size()})});
  append(entry, {"OFFT", bytes_of(metadata, metadata, bitcode)});
  append(entry, {"VERS", bytes_of(std::uint16_t{2}, std::uint16_t{6}, std::uint16_t{3}, std::uint16_t{1})});
  for (const Tag& tag : function.more) append(entry, tag);
  metal::append(entry, std::string_view("ENDT"));
  put_at(entry, 0, static_cast<std::uint32_t>(entry.size()));
  return entry;
}

}  // namespace detail

inline ByteVector container(const std::vector<TestFunction>& functions) {
  ByteVector list;
  ByteVector metadata;
  ByteVector bitcode;
  for (const TestFunction& function : functions) {
    const ByteVector entry = detail::entry_of(function, metadata.size(), bitcode.size());
    list.insert(list.end(), entry.begin(), entry.end());
    append(metadata, std::uint32_t{4});
    append(metadata, std::string_view("ENDT"));
    append(bitcode, std::string_view(function.bitcode));
  }
  ByteVector bytes;
  append(bytes, std::string_view("MTLB"));
  append(bytes, std::uint64_t{0x8100'0007'0002'8001});
  append(bytes, std::uint32_t{14});
  bytes.resize(kTestHeaderBytes);
  std::size_t header = 24;
  const auto section = [&](std::size_t size) {
    put_at(bytes, header, std::uint64_t{bytes.size()});
    put_at(bytes, header + 8, std::uint64_t{size});
    header += 16;
  };
  section(list.size());  // the count before it is not counted
  append(bytes, static_cast<std::uint32_t>(functions.size()));
  bytes.insert(bytes.end(), list.begin(), list.end());
  append(bytes, std::string_view("ENDT"));  // no extensions of the header
  for (const ByteVector& part : {metadata, metadata, bitcode}) {
    section(part.size());
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  put_at(bytes, 16, std::uint64_t{bytes.size()});
  return bytes;
}

}  // namespace anymps::metal
