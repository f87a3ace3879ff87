// Bytes that nobody changes any more, shared by all who hold them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace anymps::gpu::support {

class Blob {
 public:
  Blob() = default;

  static Blob copy_of(std::span<const std::byte> bytes) {
    auto copy = std::make_unique_for_overwrite<std::byte[]>(bytes.size());
    std::copy(bytes.begin(), bytes.end(), copy.get());
    return Blob(std::move(copy), bytes.size());
  }

  // A unique_ptr, because what make_shared gives is aligned for bytes only.
  Blob(std::unique_ptr<std::byte[]> data, std::size_t size) : data_(std::move(data)), size_(size) {}

  // Aligned as memory from new is, for any scalar; valid as long as a Blob of these bytes lives.
  std::span<const std::byte> bytes() const { return {data_.get(), size_}; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<const std::byte[]> data_;
  std::size_t size_ = 0;
};

}  // namespace anymps::gpu::support
