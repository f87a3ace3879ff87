// The name of one compiled thing: a 256-bit hash over everything that its bytes depend on.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/support/sha256.h"

namespace anymps::gpu::cache {

class CacheKey {
 public:
  // What the compiled bytes depend on. A part that is left out is a wrong answer later: name them all.
  struct Parts {
    std::string_view kind;             // what is made, such as "cpu-object": keeps makers apart
    std::span<const std::byte> input;  // what it is made from
    std::string_view options;          // how: every setting that changes the result
    std::string_view target;           // for what: triple, CPU and its features
    std::string_view version;          // by what: version_of_code() and the versions of the libraries that take part
  };

  explicit CacheKey(const Parts& parts);

  const support::Digest& digest() const { return digest_; }
  std::string hex() const;

  bool operator==(const CacheKey&) const = default;

 private:
  support::Digest digest_;
};

}  // namespace anymps::gpu::cache

template <>
struct std::hash<anymps::gpu::cache::CacheKey> {
  std::size_t operator()(const anymps::gpu::cache::CacheKey& key) const noexcept {
    std::size_t hash = 0;
    std::memcpy(&hash, key.digest().data(), sizeof hash);
    return hash;
  }
};
