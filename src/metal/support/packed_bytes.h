// Numbers and texts as bytes: numbers of 64 bits, texts with their length before them. What is read may be any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace anymps::metal::support {

class PackedWriter {
 public:
  void number(std::uint64_t value) { append(&value, sizeof value); }
  void append(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  void text(const std::string& text) {
    number(text.size());
    append(text.data(), text.size());
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class PackedReader {
 public:
  explicit PackedReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number() {
    std::uint64_t value = 0;
    if (bytes_.size() < sizeof value) {
      good = false;
      return 0;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  // How many entries of `size` bytes follow; no more than there can be.
  std::uint64_t count(std::size_t size) {
    const std::uint64_t value = number();
    if (value > bytes_.size() / size) good = false;
    return good ? value : 0;
  }
  std::string text() {
    const std::uint64_t size = count(1);
    std::string text(reinterpret_cast<const char*>(bytes_.data()), size);
    bytes_ = bytes_.subspan(size);
    return text;
  }
  std::span<const std::byte> rest() const { return bytes_; }

  bool good = true;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace anymps::metal::support
