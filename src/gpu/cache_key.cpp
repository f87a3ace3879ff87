#include "gpu/cache_key.h"

#include <cstdint>

namespace anymps::gpu {
namespace {

// With its length in front, no part can pass for the end of the one before it.
void add(Sha256& hash, std::span<const std::byte> part) {
  const std::uint64_t length = part.size();
  hash.update(std::as_bytes(std::span(&length, 1))).update(part);
}

void add(Sha256& hash, std::string_view part) { add(hash, std::as_bytes(std::span(part))); }

Digest hash_of(const CacheKey::Parts& parts) {
  Sha256 hash;
  add(hash, parts.kind);
  add(hash, parts.input);
  add(hash, parts.options);
  add(hash, parts.target);
  add(hash, parts.version);
  return hash.finish();
}

}  // namespace

CacheKey::CacheKey(const Parts& parts) : digest_(hash_of(parts)) {}

std::string CacheKey::hex() const { return hex_of(digest_); }

}  // namespace anymps::gpu
