// A .metallib: the container in which Apple's compiler ships Metal functions, one bitcode module each.
//
// Nothing in it is trusted: every offset, size and tag is checked against the bytes that are there before it is used,
// and what does not hold is refused with a text that says where. Bitcode is handed on unread; see air/module.h.
//
// Layout, little-endian. Header: "MTLB", 12 bytes of platform and versions, u64 library size, then (u64 offset, u64
// size) of the function list, public metadata, private metadata and bitcode. Function list: u32 count, then so many
// entries, whose sizes together are the list's size: u32 entry size (itself included), then tags (4 letters, u16
// length, bytes) up to the bare tag ENDT.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace anymps::metal::library {

struct MetallibError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// As the container numbers them; a number without a name here is kept.
enum class FunctionType : std::uint8_t {
  kVertex = 0,
  kFragment = 1,
  kKernel = 2,
  kUnqualified = 3,
  kVisible = 4,
  kExtern = 5,
  kIntersection = 6,
};

// "kernel", "vertex", ..., "type 9".
std::string name_of(FunctionType type);

struct FunctionVersions {
  std::uint16_t air_major = 0;
  std::uint16_t air_minor = 0;
  std::uint16_t metal_major = 0;
  std::uint16_t metal_minor = 0;
};

struct FunctionEntry {
  std::string name;
  FunctionType type = FunctionType::kKernel;
  std::span<const std::byte> bitcode;   // lives as long as the library
  std::array<std::uint8_t, 32> hash{};  // SHA-256 of the bitcode as the file claims it; not checked. Zeros: none given
  FunctionVersions versions;            // zeros where none are given
};

class Metallib {
 public:
  // Both throw MetallibError.
  static Metallib from_bytes(std::vector<std::byte> bytes);
  static Metallib from_file(const std::filesystem::path& path);

  Metallib(Metallib&&) noexcept = default;
  Metallib& operator=(Metallib&&) noexcept = default;
  Metallib(const Metallib&) = delete;
  Metallib& operator=(const Metallib&) = delete;

  // In the file's order; names are unique.
  std::span<const FunctionEntry> functions() const { return functions_; }
  const FunctionEntry* find(std::string_view name) const;
  // The container.
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit Metallib(std::vector<std::byte> bytes);

  // Moved, never copied: entries point into bytes_, names into functions_.
  std::vector<std::byte> bytes_;
  std::vector<FunctionEntry> functions_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace anymps::metal::library
