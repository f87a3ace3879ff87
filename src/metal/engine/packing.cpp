// A compiled kernel as bytes, for the cache: numbers of 64 bits, then the object.
#include <cstring>

#include "metal/engine/compiler.h"

namespace anymps::metal::engine {
namespace {

class Writer {
 public:
  void number(std::uint64_t value) { append(&value, sizeof value); }
  void append(const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), bytes, bytes + size);
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

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
  std::span<const std::byte> rest() const { return bytes_; }

  bool good = true;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

std::vector<std::byte> pack(const CompiledKernel& kernel) {
  Writer out;
  out.number(static_cast<std::uint64_t>(kernel.route));
  out.number(kernel.threadgroup.bytes);
  out.number(kernel.threadgroup.cleared.size());
  for (const auto& [offset, size] : kernel.threadgroup.cleared) {
    out.number(offset);
    out.number(size);
  }
  out.number(kernel.points.size());
  for (const MeetingPoint& point : kernel.points) {
    out.number(static_cast<std::uint64_t>(point.meeting));
    out.number(static_cast<std::uint64_t>(point.form));
    out.number(static_cast<std::uint64_t>(point.scalar));
    out.number(point.width);
    out.number(point.bytes);
  }
  out.append(kernel.object.data(), kernel.object.size());
  return out.take();
}

std::optional<CompiledKernel> unpack(std::span<const std::byte> bytes) {
  Reader in(bytes);
  CompiledKernel kernel;
  kernel.route = static_cast<lower::Route>(in.number());
  kernel.threadgroup.bytes = in.number();
  for (std::uint64_t left = in.count(2 * sizeof(std::uint64_t)); left != 0; --left) {
    const std::uint64_t offset = in.number();
    kernel.threadgroup.cleared.emplace_back(offset, in.number());
  }
  for (std::uint64_t left = in.count(5 * sizeof(std::uint64_t)); left != 0; --left) {
    MeetingPoint point;
    point.meeting = static_cast<Meeting>(in.number());
    point.form = static_cast<Form>(in.number());
    point.scalar = static_cast<Scalar>(in.number());
    point.width = static_cast<std::uint8_t>(in.number());
    point.bytes = static_cast<std::uint8_t>(in.number());
    kernel.points.push_back(point);
  }
  if (!in.good || in.rest().empty()) return std::nullopt;
  kernel.object.assign(in.rest().begin(), in.rest().end());
  return kernel;
}

}  // namespace anymps::metal::engine
