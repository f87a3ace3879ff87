#include "gpu/cache/cache_key.h"

#include <cstdint>

namespace anymps::gpu::cache {
namespace {

// With its length in front, no part can pass for the end of the one before it.
void hash_part(support::Sha256& hash, std::span<const std::byte> part) {
  const std::uint64_t length = part.size();
  hash.update(std::as_bytes(std::span(&length, 1))).update(part);
}

void hash_part(support::Sha256& hash, std::string_view part) { hash_part(hash, std::as_bytes(std::span(part))); }

support::Digest hash_of_parts(const CacheKey::Parts& parts) {
  support::Sha256 hash;
  hash_part(hash, parts.kind);
  hash_part(hash, parts.input);
  hash_part(hash, parts.options);
  hash_part(hash, parts.target);
  hash_part(hash, parts.version);
  return hash.finish();
}

}  // namespace

CacheKey::CacheKey(const Parts& parts) : digest_(hash_of_parts(parts)) {}

std::string CacheKey::hex() const { return support::hex_of(digest_); }

}  // namespace anymps::gpu::cache
