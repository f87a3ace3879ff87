// Keys and contents for the tests of the caches.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gpu/cache/cache_key.h"
#include "gpu/support/blob.h"

namespace anymps::gpu {

inline cache::CacheKey key(unsigned number) { return cache::CacheKey({"test", {}, std::to_string(number), {}, {}}); }

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string text_of(const std::optional<support::Blob>& blob) {
  if (!blob) return "(absent)";
  return {reinterpret_cast<const char*>(blob->bytes().data()), blob->size()};
}

}  // namespace anymps::gpu
